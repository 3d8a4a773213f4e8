"""Schemas of messages: what a command must look like before it is sent, and a reply when it comes."""

import json
from typing import Protocol

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.model.json import Json, JsonObject
from muster.model.problems import AuthorError
from muster.nodes.answer_schema import fault_of
from muster.nodes.resolved import BadParameter


class SchemaViolation(Exception):
    """A value does not fit its schema; the message says where, and which rule it breaks."""


class Undecodable(Exception):
    """Bytes that are no message of this kind; the message says why."""


class SchemaAway(Exception):
    """The schema cannot be had just now. May be tried again."""


class MessageSchemas(Protocol):
    """Turns values into the bytes of messages and back. `schema` is a node's `schema` or `replySchema`, as
    its author wrote it; None: plain JSON, whatever it is. `topic` is where the message goes or came from.
    Raises `BadParameter` for a schema that cannot be used, and `SchemaAway`."""

    async def encode(self, schema: JsonObject | None, topic: str, value: Json) -> bytes:
        """Raises `SchemaViolation`."""
        ...

    async def decode(self, schema: JsonObject | None, topic: str, data: bytes) -> Json:
        """Raises `SchemaViolation`, `Undecodable`."""
        ...


class InlineSchemas:
    """Plain JSON, and schemas that are written out in the workflow (`JSON_SCHEMA` with `schema`)."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    async def encode(self, schema: JsonObject | None, topic: str, value: Json) -> bytes:
        _check(schema, value)
        return plain_bytes(value)

    async def decode(self, schema: JsonObject | None, topic: str, data: bytes) -> Json:
        try:
            value = read_json(data, self._limits)
        except AuthorError as error:
            raise Undecodable(str(error)) from None
        _check(schema, value)
        return value


def plain_bytes(value: Json) -> bytes:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _check(schema: JsonObject | None, value: Json) -> None:
    if schema is None:
        return
    written = _written_out(schema)
    if (fault := fault_of(written, value)) is not None:
        raise SchemaViolation(fault)


def _written_out(schema: JsonObject) -> JsonObject:
    kind, written = schema.get("type"), schema.get("schema")
    if kind != "JSON_SCHEMA" or written is None:
        raise BadParameter(f"`schema`: `{kind}` cannot be used here; write out a `JSON_SCHEMA`")
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except ValueError:
            raise BadParameter("`schema` is no JSON") from None
    if not isinstance(written, dict):
        raise BadParameter("`schema` is no JSON Schema")
    return written
