"""Identity as an argument: whoever makes things is given the maker of their names."""

import hashlib
import secrets
import uuid
from datetime import UTC, datetime
from typing import Protocol

from muster.kit.clock import Clock, SystemClock

# A clock that is set back by more than this many milliseconds is believed.
LITTLE = 1000


class Ids(Protocol):
    def new(self) -> str:
        """A new id that sorts by the time it was made (UUIDv7)."""
        ...


class TimeOrderedIds:
    """UUIDv7: 48 bits of milliseconds, then randomness from the operating system. Those that one maker makes
    rise within a millisecond too, and over a clock that is set back a little: each is a random step after the
    one before."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._at, self._rest = 0, 0

    def new(self) -> str:
        at = _milliseconds(self._clock.now())
        if self._at - LITTLE < at <= self._at:
            at, rest = self._at, self._rest + 1 + secrets.randbits(32)
        else:
            rest = secrets.randbits(73)  # with room above it for a millisecond's worth of steps
        self._at, self._rest = at, rest
        return _uuid7(at, rest)


def named_id(at: datetime, name: str, place: int = 0) -> str:
    """The id of something that has a name: the same time and name give the same id. What is made at the same
    time sorts by its place."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    milliseconds = _milliseconds(at) + (place >> 12)
    return _uuid7(milliseconds, (place & 0xFFF) << 62 | int.from_bytes(digest) >> 2)


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


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _uuid7(milliseconds: int, rest: int) -> str:
    """48 bits of milliseconds, and 74 bits that tell apart what was made in the same one."""
    high, low = rest >> 62, rest & (1 << 62) - 1
    digits = f"{milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
