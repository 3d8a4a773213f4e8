"""SEND_WHATSAPP: one message, or one for each item."""

import re

import orjson

from muster.definitions.steps.words import quoted, shown
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.problems import Level, Problem
from muster.nodes.parts import (
    closed,
    config,
    missing,
    processing,
    processing_defs,
    says_any,
    sets_summary,
    text,
    too_deep,
)
from muster.nodes.ports import Channel, Deliveries, WhatsApp, WhatsAppMessage
from muster.nodes.resolved import BadParameter, field_of_item, object_of, text_of
from muster.nodes.sending import outcome_of

LONGEST_TEXT = 4_096
_NOT_DIALLED = re.compile(r"[\s().-]")
_NUMBER = re.compile(r"\+?([0-9]{7,15})")

_BODY: JsonObject = {
    "to": text("To", "A phone number with its country code.", "#{item.phone}", default="#{item.phone}"),
    "message": text("Message", "", "Hello #{item.name}, your subscription ends soon."),
    "template": closed(
        {
            "name": text("Name", "The template's name, as WhatsApp knows it."),
            "language": text("Language", "", "en_US"),
            "components": {"type": ["array", "string"], "title": "Components"},
        },
        "name",
        title="Message template",
    ),
}
_EXAMPLE: JsonObject = {"on": "#{users}", "forEach": {"message": "Important update in your dashboard"}}


def check(config: JsonView) -> tuple[Problem, ...]:
    found = list(too_deep(config))
    if not says_any(config, "message", "template"):
        found.append(missing("There should be a `message` or a `template`."))
    if "on" not in config and not says_any(config, "to"):
        message = "Without `to` it goes to `#{item.phone}`, and without `on` there is no item."
        found.append(missing(message, Level.WARNING))
    return tuple(found)


def say(config: JsonView) -> tuple[str, ...]:
    message = f" “{quoted(config['message'])}”" if config.get("message") else ""
    return (f"Send a WhatsApp message{message} to {shown(config.get('to', '#{item.phone}'))}.",)


TYPE = NodeType(
    name="SEND_WHATSAPP",
    kind=NodeKind.EFFECT,
    category="Integration",
    title="Send WhatsApp",
    description="Sends a WhatsApp message, or one for each item of a list.",
    schema=config(processing(_BODY), **{"$defs": processing_defs(_BODY)}),
    family=StepFamily.DATA_PROCESSOR,
    examples=(_EXAMPLE,),
    sets=sets_summary,
    check=check,
    say=say,
)


class SendWhatsApp:
    """Hands the message to WhatsApp, and keeps a record of what became of it."""

    def __init__(self, whatsapp: WhatsApp, deliveries: Deliveries) -> None:
        self._whatsapp, self._deliveries = whatsapp, deliveries

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        try:
            message = message_of(params, call)
        except BadParameter as bad:
            return Failure("BadParameter", str(bad))
        result = await self._whatsapp.send(message)
        return await outcome_of(
            result, call, self._deliveries, Channel.WHATSAPP, message.to, None, _shown_content(message)
        )


def message_of(params: JsonObject, call: Call) -> WhatsAppMessage:
    """The message that the parameters describe. Raises `BadParameter`."""
    to = params["to"] if "to" in params else field_of_item(call.scope.root, "phone")
    template = object_of(params.get("template"), "template")
    if template:
        return WhatsAppMessage(_number(to), "template", _template(template), call.key)
    text = text_of(params.get("message"), "message")
    if not text or not text.strip():
        raise BadParameter("there is neither a `message` nor a `template`")
    if len(text) > LONGEST_TEXT:
        raise BadParameter(f"`message` has {len(text):,} characters; WhatsApp takes {LONGEST_TEXT:,}")
    return WhatsAppMessage(_number(to), "text", {"preview_url": False, "body": text}, call.key)


def _number(value: Json) -> str:
    """The number's digits, country code first. What is refused is not repeated: it is somebody's."""
    text = text_of(value, "to")
    if not text:
        raise BadParameter("`to` is empty, and the item has no `phone`")
    found = _NUMBER.fullmatch(_NOT_DIALLED.sub("", text))
    if found is None:
        raise BadParameter("`to` is no phone number with its country code, such as `+49 151 23456789`")
    return found[1]


def _template(template: JsonView) -> JsonObject:
    name = text_of(template.get("name"), "template.name")
    if not name:
        raise BadParameter("`template.name` is empty")
    language = text_of(template.get("language"), "template.language") or "en_US"
    components = template.get("components") or []
    if not isinstance(components, list):
        raise BadParameter("`template.components` is a list")
    named: JsonObject = {"name": name, "language": {"code": language}}
    return {**named, "components": components} if components else named


def _shown_content(message: WhatsAppMessage) -> str:
    body = message.content.get("body")
    return body if isinstance(body, str) else orjson.dumps(message.content).decode()
