"""Schemas of messages: what a command must look like before it is sent, and a reply when it comes."""

import json
from typing import Protocol

from muster.model.json import Json, JsonObject


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


def plain_bytes(value: Json) -> bytes:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
