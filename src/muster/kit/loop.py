"""A loop is a pass and a timetable. The pass says when it wants to come again; tests call the pass."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from muster.kit.backoff import backoff

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
# What is away may be back any moment, and those who waited for it are late already.
LONGEST_TROUBLE_PAUSE = 1.0

log = logging.getLogger(__name__)


class Loop:
    """Runs a pass again and again. `work` answers after how many seconds it is wanted next.

    A pass that fails is logged and comes again after a pause that grows with every failure in a row: trouble
    of one pass ends neither the loop nor its neighbours. `trouble` is what somebody else has told the log
    about already, such as a database that is away.
    """

    def __init__(
        self, name: str, work: Callable[[], Awaitable[float]], trouble: tuple[type[Exception], ...] = ()
    ) -> None:
        self._name = name
        self._work = work
        self._trouble = trouble
        self._woken = asyncio.Event()
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    def wake(self) -> None:
        """Let the next pass come now."""
        self._woken.set()

    async def stop(self) -> None:
        """Run no further pass, and return when the one that runs is over."""
        self._stopping = True
        self.wake()
        await self._idle.wait()

    async def run(self) -> None:
        """Go on until stopped or cancelled."""
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while not self._stopping:
            self._woken.clear()
            self._idle.clear()
            try:
                pause = await self._work()
                pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
            except self._trouble as error:
                pause = min(next(pauses), LONGEST_TROUBLE_PAUSE)
                log.debug("the pass %r is tried again in %s s: %s", self._name, pause, error)
            except Exception:
                # The boundary of a pass: whatever went wrong in it, the next one is to come.
                pause = next(pauses)
                log.exception("the pass %r failed and is tried again in %s s", self._name, pause)
            finally:
                self._idle.set()
            await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
