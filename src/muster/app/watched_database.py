"""The database as this instance knows it: whether it answers, and whether it can be written."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog
from sqlalchemy.exc import TimeoutError as PoolTimeout

from muster.store.database import CommitUnknown, Database, GaveWay, Unavailable, Work

_log = structlog.get_logger("muster.database")

T = TypeVar("T")
REMEMBERED_SECONDS = 15.0
CALM_SECONDS = 3.0
PATIENCE_SECONDS = 5.0
# So long a process that was frozen, or busy with itself, gets to hear what it was answered meanwhile.
DOUBT_SECONDS = 1.0
# When one who waits looks whether others do, too: the second time, all doubt is over.
LOOKS = (PATIENCE_SECONDS + 0.1, PATIENCE_SECONDS + DOUBT_SECONDS + 0.2)
ANSWERS_NOBODY = "the database answers nobody"


class Outage:
    """Tells the log that something is away, and that it is back: two lines, however many ask meanwhile.

    It is back when it answers and nobody has failed for a while: a disk that is full answers in between.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self._last = 0.0
        self._failures = 0

    def failed(self, error: Exception) -> None:
        self._last = self._seconds()
        self._failures += 1
        if self._began is None:
            self._began = self._last
            _log.warning("database unavailable", reason=str(error))

    def worked(self) -> None:
        if self._began is not None and self._seconds() - self._last > CALM_SECONDS:
            lasted, failures = round(self._last - self._began, 1), self._failures
            self._began, self._failures = None, 0
            _log.info("database is back", seconds=lasted, failures=failures)


class Silence:
    """Spares callers the wait for a database that answers nobody.

    It is silent when nobody was answered for a while although somebody has been waiting that long, and still
    nobody a moment after that was noticed: it may be this process that did not listen. From then on one
    caller at a time finds out whether it still is, and all others are refused at once.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._asked: dict[object, float] = {}  # in the order they came
        self._answered = seconds()
        self._doubted: float | None = None
        self._is_silent = False

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around a question. Raises `Unavailable` instead of asking."""
        if self._asked and self.nobody_is_answered():
            raise Unavailable(ANSWERS_NOBODY)
        question = object()
        self._asked[question] = self._seconds()
        try:
            yield
        finally:
            del self._asked[question]

    def answered(self) -> None:
        self._answered, self._doubted = self._seconds(), None
        self._is_silent = False

    def failed(self) -> None:
        """One that fails alone may have lost its connection; with nobody answered, it is the database."""
        self._is_silent = self._is_silent or self._seconds() - self._answered > PATIENCE_SECONDS

    def nobody_is_answered(self) -> bool:
        """While somebody asks."""
        now, since = self._seconds(), max(self._answered, next(iter(self._asked.values())))
        if now - since <= PATIENCE_SECONDS:
            self._doubted = None
        elif self._doubted is None:
            self._doubted = now
        elif now - self._doubted > DOUBT_SECONDS:
            self._is_silent = True
        return self._is_silent


class WatchedDatabase:
    """A database that remembers for a while that it could not be written: a full disk can still be read."""

    def __init__(self, database: Database, seconds: Callable[[], float] = time.monotonic) -> None:
        self._database, self._seconds = database, seconds
        self._outage, self._silence = Outage(seconds), Silence(seconds)
        self._failed_at: float | None = None
        self.dialect_name = database.dialect_name

    @property
    def takes_writes(self) -> bool:
        """A write that went well since is no proof of the contrary: it may have had nothing to change."""
        return self._failed_at is None or self._seconds() - self._failed_at > REMEMBERED_SECONDS

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        try:
            with self._watched():
                return await self._database.write(work, single=single)
        except (Unavailable, CommitUnknown) as error:
            if not _only_busy(error):
                self._failed_at = self._seconds()
            raise

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        """Given up, unlike a write, once nobody is answered: whatever comes of it changes nothing."""
        with self._watched():
            try:
                async with asyncio.timeout(None) as limit:
                    later = asyncio.get_running_loop().call_later
                    looks = [later(seconds, self._look, limit) for seconds in LOOKS]
                    try:
                        return await self._database.read(work, single=single)
                    finally:
                        for look in looks:
                            look.cancel()
            except TimeoutError as silent:
                raise Unavailable(ANSWERS_NOBODY) from silent

    def _look(self, limit: asyncio.Timeout) -> None:
        # One that is given up already takes a while to let go of its connection.
        if self._silence.nobody_is_answered() and not limit.expired():
            limit.reschedule(0.0)

    async def close(self) -> None:
        await self._database.close()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            with self._silence.asking():
                yield
        except (Unavailable, CommitUnknown) as error:
            self._outage.failed(error)
            self._silence.answered() if isinstance(error, GaveWay) else self._silence.failed()
            raise
        except Exception:
            self._silence.answered()  # it refused something: an answer like any other
            raise
        self._outage.worked()
        self._silence.answered()


def _only_busy(error: Exception) -> bool:
    return isinstance(error, GaveWay) or isinstance(error.__cause__, PoolTimeout)
