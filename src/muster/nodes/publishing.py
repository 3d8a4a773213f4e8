"""KAFKA_PUBLISH at work: the message goes into the outbox with the row that says that the node is done."""

import json
from dataclasses import replace

from muster.definitions.formats import topic_flaw
from muster.engine.bus import Headers
from muster.engine.commands import EXECUTION_ID, STEP_ID
from muster.engine.handlers import Call, Done
from muster.engine.outbox import OutgoingMessage
from muster.engine.state import Failure
from muster.kit.traceparent import HEADER as TRACE_PARENT
from muster.model.json import Json, JsonObject
from muster.nodes.message_schemas import MessageSchemas, SchemaAway, SchemaViolation
from muster.nodes.resolved import BadParameter, bytes_of, object_of, text_of

# As large as the bus takes them by default, with room for what goes along.
MOST_BYTES = 1_000_000
MESSAGE_ID = "X-Message-ID"

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Publish:
    """One message. It is published once, if and only if what this answers is kept; one that is not as its
    schema says is not."""

    def __init__(self, schemas: MessageSchemas) -> None:
        self._schemas = schemas

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        try:
            message = await self._message(params, call)
        except BadParameter as bad:
            return Failure("BadParameter", str(bad))
        except SchemaViolation as fault:
            return Failure("SchemaViolation", f"the message is not as its schema says: {fault}")
        except SchemaAway as away:
            return Failure("SchemaAway", str(away), retryable=True)
        if message.value is not None and len(message.value) > MOST_BYTES:
            told = f"the message has {len(message.value)} bytes, where at most {MOST_BYTES} are published"
            return Failure("TooLarge", told)
        output: JsonObject = {"messageId": message.id, "topic": message.topic}
        return Done(output, opens=(message,))

    async def _message(self, params: JsonObject, call: Call) -> OutgoingMessage:
        message = message_of(params, call)
        schema = object_of(params.get("schema"), "schema")
        if not schema or "payload" not in params:
            return message
        value = await self._schemas.encode(dict(schema), message.topic, params.get("payload"))
        return replace(message, value=value)


def message_of(params: JsonObject, call: Call) -> OutgoingMessage:
    """Raises `BadParameter`."""
    identity, key = call.opening_id(), text_of(params.get("key"), "key")
    told = {MESSAGE_ID: identity, EXECUTION_ID: call.execution_id, STEP_ID: call.node_id}
    if call.traceparent is not None:
        told[TRACE_PARENT] = call.traceparent
    return OutgoingMessage(
        identity,
        _topic(params.get("topic")),
        bytes_of(_text(params["payload"]), "payload") if "payload" in params else None,
        None if key is None else bytes_of(key, "key"),
        headers_of(params.get("headers"), told),
        institute_id=call.institute_id,
    )


def headers_of(given: Json, always: dict[str, str]) -> Headers:
    """The author's headers, and what is told beside them, unless they say it themselves: all but the
    message's id, by which readers know repeats. Raises `BadParameter`."""
    own = {name: text_of(value, f"headers.{name}") for name, value in object_of(given, "headers").items()}
    chosen = {name: text for name, text in own.items() if text is not None}
    if any(name.casefold() == MESSAGE_ID.casefold() for name in chosen):
        raise BadParameter(f"`headers`: {MESSAGE_ID} is the message's own, by which its readers know repeats")
    taken = {name.casefold() for name in chosen}
    told = {**{name: text for name, text in always.items() if name.casefold() not in taken}, **chosen}
    return tuple((name, bytes_of(text, f"headers.{name}")) for name, text in told.items())


def _topic(given: Json) -> str:
    topic = text_of(given, "topic")
    if not topic:
        raise BadParameter("`topic` is nothing, where the name of a topic was expected")
    if (flaw := topic_flaw(topic)) is not None:
        raise BadParameter(f"`topic`: {flaw}")
    return topic


def _text(payload: Json) -> str:
    try:
        return _encode(payload)
    except ValueError:
        raise BadParameter("`payload` holds NaN or infinity, which JSON does not have") from None
