"""Time that passes is counted while the machine sleeps, too."""

import asyncio
import time

import pytest

from muster.kit.clock import passed


async def test_it_goes_on_with_the_loop() -> None:
    loop = asyncio.get_running_loop()
    assert passed() - loop.time() == pytest.approx(_asleep(), abs=0.2)


async def test_the_time_while_the_machine_was_suspended_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, read = passed(), time.clock_gettime
    slept = {time.CLOCK_BOOTTIME: 120.0}
    monkeypatch.setattr(time, "clock_gettime", lambda clock: read(clock) + slept.get(clock, 0.0))
    assert passed() - before == pytest.approx(120.0, abs=0.5)


def _asleep() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
