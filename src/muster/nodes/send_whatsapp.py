"""SEND_WHATSAPP: one message, or one for each item."""

import re

import orjson

from muster.definitions.steps.words import quoted, shown
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.parts import closed, text
from muster.nodes.ports import Channel, Deliveries, WhatsApp, WhatsAppMessage
from muster.nodes.resolved import BadParameter, field_of_item, object_of, text_of
from muster.nodes.sending import Outgoing, Wording, deliver, sending_type

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


def say(config: JsonView) -> tuple[str, ...]:
    message = f" “{quoted(config['message'])}”" if config.get("message") else ""
    return (f"Send a WhatsApp message{message} to {shown(config.get('to', '#{item.phone}'))}.",)


TYPE = sending_type(
    Wording(
        name="SEND_WHATSAPP",
        title="Send WhatsApp",
        description="Sends a WhatsApp message, or one for each item of a list.",
        content=("message", "template"),
        lacking="There should be a `message` or a `template`.",
        reached_by="phone",
    ),
    _BODY,
    _EXAMPLE,
    say,
)


class SendWhatsApp:
    """Hands the message to WhatsApp, and keeps a record of what became of it."""

    def __init__(self, whatsapp: WhatsApp, deliveries: Deliveries) -> None:
        self._whatsapp, self._deliveries = whatsapp, deliveries

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        return await deliver(call, self._deliveries, lambda: self._written(params, call))

    async def _written(self, params: JsonObject, call: Call) -> Outgoing:
        message = message_of(params, call)
        return Outgoing(
            lambda: self._whatsapp.send(message), Channel.WHATSAPP, message.to, None, _shown_content(message)
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
