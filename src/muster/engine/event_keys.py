"""Where messages have what tells whose event they are: the two ids, or a business key."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from muster.model.json import Json


class TopicFields(NamedTuple):
    """A topic, and where its messages have the two ids. Without a field for the execution, what is there for
    the correlation is a business key, and events are kept for so many seconds until a wait meets them."""

    topic: str
    correlation: str
    execution: str
    buffer_seconds: int = 0


class WaitKey(NamedTuple):
    """A business key, by its hash, under which a wait expects an event: alone, or with others."""

    hash: str
    event: str
    is_shared: bool = False
    filter: Mapping[str, Json] = MappingProxyType({})


class KeyedEvent(NamedTuple):
    """An event under a business key. `name` tells its message from all others; `expires_at` is until when
    waits may begin that it is for, beside those that are there when it comes; `trace` is the `traceparent`
    that it came with."""

    hash: str
    topic: str
    data: Json
    name: str
    received_at: datetime
    expires_at: datetime
    trace: str | None = None


def key_hash(topic: str, field: str, value: Json) -> str | None:
    """The hash of a business key; None: this is none. Numbers and texts that read alike are alike."""
    if value is None or isinstance(value, bool | list | dict):
        return None
    return hashlib.sha256(f"{topic}\n{field}\n{value}".encode(errors="replace")).hexdigest()
