"""SEND_WHATSAPP: one message, or one for each item."""

from muster.definitions.steps.words import quoted, shown
from muster.model.json import JsonObject, JsonView
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
