"""KAFKA_PUBLISH: what it makes of its parameters."""

import pytest

from muster.definitions.limits import Limits
from muster.engine.handlers import Done
from muster.engine.outbox import OutgoingMessage
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.nodes.publishing import Publish
from muster.schemas.messages import SchemaMessages
from node_calls import call_with

NUMBER: JsonObject = {"properties": {"n": {"type": "number"}}}
# Nothing is registered, and nothing is in files.
publish = Publish(SchemaMessages(None, None, Limits(), None))  # type: ignore[arg-type]


async def message(**params: object) -> OutgoingMessage:
    outcome = await publish({"topic": "orders", **params}, call_with())
    assert isinstance(outcome, Done), outcome
    [opened] = outcome.opens
    assert isinstance(opened, OutgoingMessage)
    assert outcome.output == {"messageId": opened.id, "topic": opened.topic}
    return opened


async def test_the_payload_is_published_as_the_json_that_it_is() -> None:
    assert (await message(payload={"naïve": [1, None]})).value == '{"naïve":[1,null]}'.encode()
    assert (await message(payload="text")).value == b'"text"'
    assert (await message(payload=None)).value == b"null"
    assert (await message()).value is None


async def test_the_key_is_text_and_may_be_left_out() -> None:
    assert (await message(key=7)).key == b"7"
    assert (await message(key=None)).key is None


async def test_headers_say_where_it_comes_from_unless_the_author_does() -> None:
    sent = await message(headers={"X-Step-ID": "mine", "X-Tries": 3, "X-None": None})
    told = dict(sent.headers)
    assert told["X-Step-ID"] == b"mine"
    assert told["X-Tries"] == b"3"
    assert told["X-Message-ID"] == sent.id.encode()
    assert told["X-Workflow-Instance-ID"] == call_with().execution_id.encode()
    assert "X-None" not in told


async def test_the_same_attempt_makes_the_same_message() -> None:
    call = call_with()
    assert await publish({"topic": "orders"}, call) == await publish({"topic": "orders"}, call)
    other = call._replace(fence=call.fence + 1)
    assert await publish({"topic": "orders"}, call) != await publish({"topic": "orders"}, other)


@pytest.mark.parametrize(
    ("params", "type_", "told"),
    [
        ({"topic": "a b"}, "BadParameter", "letters, digits"),
        ({"topic": None}, "BadParameter", "`topic` is nothing"),
        ({"payload": "x" * 1_000_000}, "TooLarge", "1000002 bytes"),
        ({"payload": float("nan")}, "BadParameter", "NaN"),
        ({"payload": "\ud800"}, "BadParameter", "`payload` holds half"),
        ({"key": {"a": 1}}, "BadParameter", "`key` is an object"),
        ({"headers": "x"}, "BadParameter", "`headers` is"),
        ({"headers": {"X-A": []}}, "BadParameter", "`headers.X-A`"),
        ({"headers": {"x-message-id": "mine"}}, "BadParameter", "the message's own"),
        ({"schema": {"type": "AVRO"}, "payload": 1}, "BadParameter", "`registry`"),
        (
            {
                "schema": {"type": "JSON_SCHEMA", "schema": {"properties": {"n": {"type": "number"}}}},
                "payload": {"n": "x"},
            },
            "SchemaViolation",
            "`/n`",
        ),
    ],
)
async def test_what_cannot_be_published_fails_and_says_why(params: JsonObject, type_: str, told: str) -> None:
    outcome = await publish({"topic": "orders", **params}, call_with())
    assert isinstance(outcome, Failure)
    assert outcome.type == type_
    assert told in outcome.message
