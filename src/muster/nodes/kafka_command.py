"""KAFKA_COMMAND: a command on one topic, its reply on another."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from muster.definitions.steps.words import shown
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.model.problems import Problem
from muster.nodes.answer_schema import schemas_that_fail
from muster.nodes.parts import (
    HEADERS,
    MAPPING,
    MESSAGE_SCHEMA,
    anything,
    closed,
    config,
    duration,
    flag,
    literal,
    mapped,
    text,
    topic,
    whole,
)

DEFAULT_TIMEOUT = "300s"
_COMMAND: JsonObject = {
    "type": "object",
    "title": "Command",
    "properties": {"type": text("Kind", "", "EXPORT_DATA"), "payload": anything("Payload")},
    "examples": [{"type": "EXPORT_DATA", "payload": {"format": "CSV"}}],
}
_DEAD_LETTERS = closed(
    {
        "topic": topic("Topic", "Else that of the settings.", "export-commands-dlq"),
        "onTimeout": flag("When no reply comes", default=False),
        "onError": flag("When the reply is an error", default=False),
    },
    title="Dead letters",
)
_COMPENSATION = closed(
    {
        "command": _COMMAND,
        "topic": topic("Topic"),
        "timeout": duration("Timeout"),
        "waitForReply": flag("Wait for the reply", default=False),
        "key": text("Key", "Instead of the correlation id."),
        "headers": HEADERS,
        "schema": MESSAGE_SCHEMA,
    },
    "command",
    title="Compensation",
)
_EXAMPLE: JsonObject = {
    "commandTopic": "export-commands",
    "replyTopic": "export-replies",
    "command": {"type": "EXPORT_DATA", "payload": {"format": "CSV"}},
    "timeout": "300s",
    "outputMapping": {"exportId": "$.exportId"},
}


def sets(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    return mapped(config) or None


def attempts(config: JsonView) -> int:
    """How often the command is sent, if need be."""
    retries = config.get("retries", 0)
    return 1 + (retries if isinstance(retries, int) else 0)


def check(config: JsonView) -> tuple[Problem, ...]:
    found = schemas_that_fail(config, "schema", "replySchema")
    if isinstance(undo := config.get("compensation"), dict):
        inner = schemas_that_fail(undo, "schema")
        found += (replace(each, pointer=f"/compensation{each.pointer}") for each in inner)
    return (*found, *_mixed_up(config))


def _mixed_up(config: JsonView) -> Iterator[Problem]:
    """Topics whose readers would take one thing for another."""
    command, reply = config.get("commandTopic"), config.get("replyTopic")
    if command == reply:
        message = "Commands and replies need topics of their own, or a command would be taken for its reply."
        yield Problem("NOT_ALLOWED", "/replyTopic", message)
    undo, dlq = config.get("compensation"), config.get("dlq")
    if isinstance(undo, dict) and undo.get("topic") == reply is not None:
        message = "What undoes a command may not go where replies come from: it would be taken for one."
        yield Problem("NOT_ALLOWED", "/compensation/topic", message)
    buried = dlq.get("topic") if isinstance(dlq, dict) else None
    if buried is not None and buried in (command, reply):
        message = "Dead letters need a topic of their own, or they would be taken for commands or replies."
        yield Problem("NOT_ALLOWED", "/dlq/topic", message)


def compensation(config: JsonView) -> JsonObject | None:
    """How a command that was answered is undone: by another."""
    written = config.get("compensation")
    return {"type": "KAFKA_COMMAND", "config": written} if isinstance(written, dict) else None


def say(config: JsonView) -> tuple[str, ...]:
    command = config.get("command")
    kind = command.get("type") if isinstance(command, dict) else None
    named = f" {shown(kind)}" if kind else ""
    limit = shown(config.get("timeout", DEFAULT_TIMEOUT))
    said = [
        f"Send the command{named} to {shown(config.get('commandTopic'))}.",
        f"Wait up to {limit} for the reply on {shown(config.get('replyTopic'))}.",
    ]
    if mapped(config):
        said.append(f"Keep {', '.join(f'`{name}`' for name in sorted(mapped(config)))} of it.")
    return tuple(said)


TYPE = NodeType(
    name="KAFKA_COMMAND",
    kind=NodeKind.WAIT,
    category="Integration",
    title="Kafka command",
    description="Sends a command and waits for its reply.",
    schema=config(
        {
            "commandTopic": topic("Command topic", "", "export-commands"),
            "replyTopic": literal(topic("Reply topic", "", "export-replies")),
            "command": _COMMAND,
            "timeout": duration(
                "Timeout", "Counted from when the broker has the command.", default=DEFAULT_TIMEOUT
            ),
            "key": text("Key", "Instead of the correlation id."),
            "headers": HEADERS,
            "schema": MESSAGE_SCHEMA,
            "replySchema": MESSAGE_SCHEMA,
            "correlationIdField": text("Correlation field", "In the reply, where its headers have none."),
            "dlq": _DEAD_LETTERS,
            "outputMapping": MAPPING,
            "errorWhen": text("Is an error when", "", "#{reply.status == 'FAILED'}", format="condition"),
            "retries": whole("Retries", minimum=0, maximum=100, default=0),
            "compensation": _COMPENSATION,
        },
        "commandTopic",
        "replyTopic",
    ),
    examples=(_EXAMPLE,),
    sets=sets,
    check=check,
    say=say,
    attempts=attempts,
    compensation=compensation,
    local_names=frozenset({"reply", "headers", "status"}),
)
