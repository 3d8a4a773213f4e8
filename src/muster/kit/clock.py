"""Time as an argument: whoever needs it is given a clock, and tests give theirs."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

# Whether this machine counts the seconds for which it was suspended.
TELLS_SLEEP = hasattr(time, "CLOCK_BOOTTIME")


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
    tenths = 0
    if TELLS_SLEEP:
        asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
        tenths = int(asleep * 10 + 0.5)  # asked for very often, and `round` takes longer than all the rest
    return asyncio.get_running_loop().time() + tenths / 10
