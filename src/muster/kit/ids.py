"""Identity as an argument: whoever makes things is given the maker of their names."""

import secrets
import uuid
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
