"""Time as an argument: whoever needs it is given a clock, and tests give theirs."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware and in UTC."""
        ...


class SystemClock:
    """This machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def passed() -> float:
    """Seconds by the event loop's clock and, where the machine can tell, those for which it was suspended:
    what others wait for goes on meanwhile. (To a tenth, since two clocks are read: a simulation has to
    repeat exactly.)"""
    asleep = 0.0
    if hasattr(time, "CLOCK_BOOTTIME"):
        asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return asyncio.get_running_loop().time() + round(asleep, 1)
