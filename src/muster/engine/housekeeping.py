"""What has had its time goes, a bounded number at once, so that nobody waits for it."""

from collections.abc import Sequence
from typing import Protocol

AT_ONCE = 1000
LOOK_EVERY = 60.0


class Expiring(Protocol):
    async def forget_expired(self, most: int) -> int:
        """Remove so many at most of what has expired by the database's clock; how many they were."""
        ...


class Housekeeping:
    """Several instances may keep house at once: they are only a little in each other's way."""

    def __init__(self, kept: Sequence[Expiring], at_once: int = AT_ONCE) -> None:
        self._kept, self._at_once = kept, at_once

    async def tidy(self) -> float:
        """Once through everything; answers after how many seconds to come again."""
        gone = [await each.forget_expired(self._at_once) for each in self._kept]
        return 0.0 if self._at_once in gone else LOOK_EVERY
