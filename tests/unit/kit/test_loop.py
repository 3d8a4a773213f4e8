"""A loop keeps going, whatever its passes do."""

import asyncio
import logging

import pytest

from muster.kit.loop import Loop
from polling import PATIENCE


async def run_until(loop: Loop, reached: asyncio.Event) -> None:
    running = asyncio.create_task(loop.run())
    async with asyncio.timeout(PATIENCE):
        await reached.wait()
    running.cancel()


async def test_a_pass_comes_again_when_it_asked_to() -> None:
    passes, thrice = 0, asyncio.Event()

    async def work() -> float:
        nonlocal passes
        passes += 1
        if passes == 3:
            thrice.set()
        return 0.001

    await run_until(Loop("often", work), thrice)
    assert passes >= 3


async def test_waking_brings_the_next_pass_now() -> None:
    passes, twice = 0, asyncio.Event()

    async def work() -> float:
        nonlocal passes
        passes += 1
        if passes == 2:
            twice.set()
        asyncio.get_running_loop().call_later(0.01, loop.wake)
        return 3600.0

    loop = Loop("woken", work)
    await run_until(loop, twice)
    assert passes == 2


async def test_a_pass_that_fails_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    passes, again = 0, asyncio.Event()

    async def work() -> float:
        nonlocal passes
        passes += 1
        if passes == 1:
            raise ValueError("once")
        again.set()
        return 3600.0

    with caplog.at_level(logging.ERROR):
        await run_until(Loop("shaky", work), again)
    assert "the pass 'shaky' failed" in caplog.text


async def test_a_loop_that_is_stopped_lets_its_pass_end_and_runs_no_other() -> None:
    passes, begun, go_on = 0, asyncio.Event(), asyncio.Event()

    async def work() -> float:
        nonlocal passes
        begun.set()
        await go_on.wait()
        passes += 1
        return 0.0

    loop = Loop("stopped", work)
    running = asyncio.create_task(loop.run())
    await begun.wait()
    stopping = asyncio.create_task(loop.stop())
    await asyncio.sleep(0)
    assert not stopping.done()
    go_on.set()
    async with asyncio.timeout(PATIENCE):
        await stopping
        await running
    assert passes == 1


async def test_a_loop_that_never_ran_is_stopped_at_once() -> None:
    async def work() -> float:
        raise AssertionError("nobody asked")

    loop = Loop("never", work)
    async with asyncio.timeout(PATIENCE):
        await loop.stop()
        await loop.run()


async def test_trouble_that_somebody_else_tells_of_is_no_line_here(caplog: pytest.LogCaptureFixture) -> None:
    passes, again = 0, asyncio.Event()

    async def work() -> float:
        nonlocal passes
        passes += 1
        if passes == 1:
            raise ConnectionError("away")
        again.set()
        return 3600.0

    with caplog.at_level(logging.INFO):
        await run_until(Loop("patient", work, (ConnectionError,)), again)
    assert caplog.text == ""
