"""One look at the database each second, for all who would else look by themselves.

A pass sleeps until the next time that it knows, and is woken by whoever knows more. What nobody told it of
(another instance has made it, or has gone and left it) is seen from here: one question, however many passes
there are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

LOOK_EVERY = 1.0
# A pass that is woken from here looks by itself only in case that nobody looks.
SELDOM = 30.0
# What comes due before the next look but one: its pass sleeps until then, to the moment.
AHEAD = timedelta(seconds=2 * LOOK_EVERY)


class Sight(StrEnum):
    """What may have something to do."""

    DUE = "due executions"
    LEASES = "leases that end"
    SCHEDULES = "schedules"
    JOBS = "bulk jobs"
    KEYS = "business keys"
    REFUSED = "refused commands"
    ASIDE = "replies set aside"
    OUTBOX = "messages in the outbox"
    MISSES = "expectations"
    STARTS = "starts that are due"
    ALERTS = "alerts"


@dataclass(frozen=True, slots=True)
class Seen:
    """How long it is until the next of each, nothing or less for what is due; what is not among them has
    nothing to do. And the topics that messages are wanted from."""

    left: Mapping[Sight, timedelta]
    topics: frozenset[str]


class Sights(Protocol):
    async def look(self) -> Seen: ...


class Lookout:
    """Wakes who has something to do."""

    def __init__(self, sights: Sights) -> None:
        self._sights = sights
        self._wakes: dict[Sight, list[Callable[[], None]]] = {}
        self._topics: frozenset[str] = frozenset()
        self._wakes_for_topics: list[Callable[[], None]] = []

    def watch(self, sight: Sight, wake: Callable[[], None]) -> None:
        """From now on `wake` hears when there is something, shortly before it is due."""
        self._wakes.setdefault(sight, []).append(wake)

    def watch_topics(self, wake: Callable[[], None]) -> None:
        """From now on `wake` hears when other topics are wanted than before."""
        self._wakes_for_topics.append(wake)

    async def look(self) -> float:
        """Look once; when to look again."""
        seen = await self._sights.look()
        for sight, left in seen.left.items():
            for wake in self._wakes.get(sight, ()) if left <= AHEAD else ():
                wake()
        if seen.topics != self._topics:
            self._topics = seen.topics
            for wake in self._wakes_for_topics:
                wake()
        return LOOK_EVERY
