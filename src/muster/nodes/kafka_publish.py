"""KAFKA_PUBLISH: one message, sent with the commit that records it."""

from muster.definitions.steps.words import shown
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, sets_anything
from muster.model.problems import Problem
from muster.nodes.answer_schema import schemas_that_fail
from muster.nodes.parts import (
    HEADERS,
    MESSAGE_SCHEMA,
    anything,
    config,
    processing,
    processing_defs,
    text,
    too_deep,
    topic,
)

_BODY: JsonObject = {
    "key": text("Key", "Messages of one key stay in order.", "#{orderId}"),
    "headers": HEADERS,
    "payload": anything("Payload", "", {"orderId": "#{orderId}"}),
}
_EXAMPLE: JsonObject = {"topic": "orders.placed", "key": "#{orderId}", "payload": {"orderId": "#{orderId}"}}


def check(config: JsonView) -> tuple[Problem, ...]:
    return (*too_deep(config), *schemas_that_fail(config, "schema"))


def say(config: JsonView) -> tuple[str, ...]:
    key = f" with the key {shown(config['key'])}" if config.get("key") else ""
    return (f"Publish a message to {shown(config.get('topic'))}{key}.",)


TYPE = NodeType(
    name="KAFKA_PUBLISH",
    kind=NodeKind.EFFECT,
    category="Integration",
    title="Publish to Kafka",
    description="Publishes a message; it is sent with the commit that records it.",
    schema=config(
        {
            "topic": topic("Topic", "", "orders.placed"),
            **processing(_BODY),
            "schema": MESSAGE_SCHEMA,
        },
        "topic",
        **{"$defs": processing_defs(_BODY)},
    ),
    examples=(_EXAMPLE,),
    sets=sets_anything,
    check=check,
    say=say,
)
