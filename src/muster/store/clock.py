"""The database's clock, as a process can tell it without asking every time.

Instances share nothing but the database, so its clock is the one that they have in common: by it executions
come due and leases end. A process counts on from its last looks by its own monotonic counter; what its
machine takes for the time of day decides nothing.
"""

import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection

from muster.kit.clock import TELLS_SLEEP, Clock
from muster.store.database import Database
from muster.store.dialect import THE_TIME

LOOK_EVERY = 5.0
REMEMBERED = 6
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# Seconds that go on while the machine sleeps, where it can tell them.
_counter = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if TELLS_SLEEP else time.monotonic


class DatabaseClock:
    """Never behind the database's clock, and ahead of it by no more than the quickest of the last looks took:
    what is to rest for a while from now on rests no less.

    Until the first look it is the given clock.
    """

    def __init__(self, database: Database, before: Clock, seconds: Callable[[], float] = _counter) -> None:
        self._database, self._before, self._seconds = database, before, seconds
        # What is to be added to the counter, at least and at most, as of each look.
        self._looks: deque[tuple[float, float]] = deque(maxlen=REMEMBERED)
        self._ahead: float | None = None

    def now(self) -> datetime:
        if self._ahead is None:
            return self._before.now()
        return datetime.fromtimestamp(self._ahead + self._seconds(), UTC)

    async def look(self) -> float:
        """Ask the database; when to ask again."""
        asked = self._seconds()
        there = (await self._database.read(_the_time, single=True) - EPOCH).total_seconds()
        answered = self._seconds()
        # It was asked and answered in between.
        least, most = there - answered, there - asked
        if any(most < low or least > high for low, high in self._looks):
            # One of the clocks was set, or counts otherwise than the other: what was seen before is over.
            self._looks.clear()
        self._looks.append((least, most))
        self._ahead = min(high for _, high in self._looks)
        return LOOK_EVERY


def _the_time(connection: Connection) -> datetime:
    return connection.execute(THE_TIME).scalar_one()
