"""How a registry's messages begin: a zero, and the schema's number in four bytes."""

import struct

from muster.nodes.message_schemas import Undecodable

MAGIC = 0
_HEAD = struct.Struct(">bI")


def framed(schema_id: int, payload: bytes) -> bytes:
    return _HEAD.pack(MAGIC, schema_id) + payload


def unframed(data: bytes) -> tuple[int, bytes]:
    """The schema's number, and what follows. Raises `Undecodable`."""
    if len(data) < _HEAD.size or data[0] != MAGIC:
        raise Undecodable("it does not begin as a registry's messages do: with a zero and a schema's number")
    return _HEAD.unpack_from(data)[1], data[_HEAD.size :]
