"""A loop is a pass and a timetable. The pass says when it wants to come again; tests call the pass."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from muster.kit.backoff import backoff

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0

log = logging.getLogger(__name__)


class Loop:
    """Runs a pass again and again. `work` answers after how many seconds it is wanted next.

    A pass that fails is logged and comes again after a pause that grows with every failure in a row: trouble
    of one pass ends neither the loop nor its neighbours.
    """

    def __init__(self, name: str, work: Callable[[], Awaitable[float]]) -> None:
        self._name = name
        self._work = work
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Let the next pass come now."""
        self._woken.set()

    async def run(self) -> None:
        """Go on until cancelled."""
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            self._woken.clear()
            try:
                pause = await self._work()
                pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
            except Exception:
                # The boundary of a pass: whatever went wrong in it, the next one is to come.
                pause = next(pauses)
                log.exception("the pass %r failed and is tried again in %s s", self._name, pause)
            await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
