"""A command that cannot be a message is none: nothing is sent, and the node says why."""

import pytest

from muster.definitions.limits import Limits
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.nodes.commanding import Outbound, made_command
from muster.schemas.messages import SchemaMessages
from node_calls import call_with

# Nothing is registered, and nothing is in files.
SCHEMAS = SchemaMessages(None, None, Limits(), None)  # type: ignore[arg-type]
TOPICS: JsonObject = {"commandTopic": "commands", "replyTopic": "replies"}


@pytest.mark.parametrize(
    ("params", "type_", "told"),
    [
        ({"key": "\ud800"}, "BadParameter", "`key` holds half"),
        ({"headers": {"X-A": "\ud800"}}, "BadParameter", "`headers.X-A` holds half"),
        ({"command": {"a": "\ud800"}}, "SchemaViolation", "half a surrogate pair"),
    ],
)
async def test_what_is_no_text_is_not_sent(params: JsonObject, type_: str, told: str) -> None:
    made = await made_command(SCHEMAS, {**TOPICS, **params}, call_with(), "c1")
    assert isinstance(made, Failure)
    assert made.type == type_
    assert told in made.message


async def test_a_command_may_say_nothing() -> None:
    made = await made_command(SCHEMAS, TOPICS, call_with(), "c1")
    assert isinstance(made, Outbound)
    assert made.message.value == b"{}"
