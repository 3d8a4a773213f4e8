"""Leaving alone what does not work, until it does again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from muster.kit.backoff import backoff

T = TypeVar("T")
MOST_FAILURES = 3
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0

log = logging.getLogger(__name__)


class Left(Exception):
    """It was not asked: it is being left alone, or it did not work."""


class Breaker:
    """Asks something that everybody can do without, and that may be slow, frozen or gone.

    Whatever takes longer than `seconds` is a failure; an answer that takes more than half of them is taken,
    and counts as one. After a few in a row it is left alone for a while, longer and longer, and then one
    caller tries it; the others are told `Left` at once. The log has a line when that begins and one when it
    is over; `failed` hears of every failure.
    """

    def __init__(
        self,
        name: str,
        trouble: tuple[type[Exception], ...],
        seconds: float,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._name, self._seconds, self._failed = name, seconds, failed
        self._trouble: tuple[type[Exception], ...] = (*trouble, TimeoutError)
        self._failures = 0
        self._pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._again: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether it is left alone."""
        return self._again is not None

    @property
    def rests(self) -> bool:
        """Whether whoever asked now would be told `Left`."""
        return self._again is not None and (self._probing or _now() < self._again)

    async def ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` comes to. Raises `Left`."""
        if self.rests:
            raise Left(f"{self._name} is left alone")
        self._probing = probes = self.is_open
        asked = _now()
        try:
            async with asyncio.timeout(self._seconds):
                answer = await work()
        except self._trouble as error:
            self._note(error)
            raise Left(f"{self._name} does not work") from error
        finally:
            if probes:
                self._probing = False
        if (took := _now() - asked) > self._seconds / 2:
            self._note(TimeoutError(f"it takes {took:.2f} s to answer"))
        else:
            self._works()
        return answer

    def _note(self, error: Exception) -> None:
        self._failed()
        self._failures += 1
        if self._again is None:
            if self._failures < MOST_FAILURES:
                return
            log.warning("%s does not work and is left alone for a while: %s", self._name, error)
        self._again = _now() + next(self._pauses)

    def _works(self) -> None:
        self._failures = 0
        if self._again is not None:
            log.info("%s works again", self._name)
            self._again, self._pauses = None, backoff(FIRST_PAUSE, LONGEST_PAUSE)


def _now() -> float:
    return asyncio.get_running_loop().time()
