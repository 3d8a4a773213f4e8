"""Whatever leaves an execution carries the trace that it belongs to, unless its author says otherwise."""

from typing import Any

from muster.definitions.limits import Limits
from muster.engine.handlers import Done
from muster.engine.outbox import OutgoingMessage
from muster.nodes.commanding import Outbound, made_command
from muster.nodes.publishing import Publish
from muster.nodes.rest_request import request_of
from muster.schemas.messages import SchemaMessages
from node_calls import call_with

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-11111111111111111111111111111111-2222222222222222-00"
# Nothing is registered, and nothing is in files.
SCHEMAS = SchemaMessages(None, None, Limits(), None)  # type: ignore[arg-type]
URL = "https://api.example/x"


def traced() -> Any:
    return call_with()._replace(trace=TRACE)


async def published(call: Any, **params: Any) -> dict[str, bytes]:
    outcome = await Publish(SCHEMAS)({"topic": "orders", **params}, call)
    assert isinstance(outcome, Done)
    [message] = outcome.opens
    assert isinstance(message, OutgoingMessage)
    return dict(message.headers)


async def commanded(call: Any) -> str:
    params = {"commandTopic": "c", "replyTopic": "r", "command": {}, "headers": {"Traceparent": OTHER}}
    made = await made_command(SCHEMAS, params, call, "c1")
    assert isinstance(made, Outbound)
    headers = dict(made.message.headers)
    assert "Traceparent" not in headers, "there are not to be two"
    return headers["traceparent"].decode()


def test_a_request_carries_the_trace() -> None:
    assert dict(request_of({"url": URL}, traced()).headers)["traceparent"] == TRACE


def test_a_request_of_no_trace_carries_none() -> None:
    assert "traceparent" not in dict(request_of({"url": URL}, call_with()).headers)


def test_a_trace_that_the_author_names_is_the_one_that_is_sent() -> None:
    headers = request_of({"url": URL, "headers": {"Traceparent": OTHER}}, traced()).headers
    assert [value for name, value in headers if name.lower() == "traceparent"] == [OTHER]


async def test_a_message_carries_the_trace() -> None:
    assert (await published(traced()))["traceparent"] == TRACE.encode()
    assert "traceparent" not in await published(call_with())


async def test_a_trace_that_the_author_of_a_message_names_is_the_only_one() -> None:
    headers = await published(traced(), headers={"Traceparent": OTHER})
    assert {name.lower(): value for name, value in headers.items()}["traceparent"] == OTHER.encode()
    assert "traceparent" not in headers


async def test_a_command_always_carries_a_trace_the_same_for_an_execution() -> None:
    assert await commanded(traced()) == TRACE
    own = await commanded(call_with())
    assert own.split("-")[1] == (await commanded(call_with())).split("-")[1] != TRACE.split("-")[1]
