"""Identity as an argument: whoever makes things is given the maker of their names."""

import hashlib
import secrets
import uuid
from datetime import UTC, datetime
from typing import Protocol

from muster.kit.clock import Clock, SystemClock


class Ids(Protocol):
    def new(self) -> str:
        """A new id that sorts by the time it was made (UUIDv7)."""
        ...


class TimeOrderedIds:
    """UUIDv7: 48 bits of milliseconds, then randomness from the operating system."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()

    def new(self) -> str:
        milliseconds = int(self._clock.now().timestamp() * 1000)
        bits = milliseconds << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(uuid.UUID(int=bits))


def derived_id(parent: str, name: str) -> str:
    """The id of what `parent`, itself such an id, makes under a name: the same whenever it is made again, and
    sorted by the parent's time."""
    digest = int.from_bytes(hashlib.sha256(f"{parent}/{name}".encode()).digest())
    milliseconds = uuid.UUID(parent).int >> 80
    bits = milliseconds << 80 | 0x7 << 76 | (digest >> 64 & 0xFFF) << 64 | 0b10 << 62 | digest & (1 << 62) - 1
    return str(uuid.UUID(int=bits))


def time_of(identity: str) -> datetime:
    """When an id was made, to the millisecond."""
    return datetime.fromtimestamp((uuid.UUID(identity).int >> 80) / 1000, UTC)
