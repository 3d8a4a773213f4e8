"""Leaving alone what does not work. Time is virtual: nobody waits."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from muster.kit.breaker import LONGEST_PAUSE, MOST_FAILURES, Breaker, Left
from muster.sim.world import World

PATIENCE = 0.5


class Trouble(Exception):
    pass


class Far:
    """Something at the other end of a wire."""

    def __init__(self) -> None:
        self.works, self.asked, self.takes = True, 0, 0.0

    async def answer(self) -> str:
        self.asked += 1
        await asyncio.sleep(self.takes)
        if not self.works:
            raise Trouble("no")
        return "yes"


def in_virtual_time(story: Callable[[Far, Breaker], Awaitable[None]]) -> None:
    async def main(world: World) -> None:
        await story(Far(), Breaker("the far side", (Trouble,), PATIENCE))

    World(1).run(main)


async def left(breaker: Breaker, far: Far, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(Left):
            await breaker.ask(far.answer)


def test_what_works_is_asked_every_time() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        assert [await breaker.ask(far.answer) for _ in range(5)] == ["yes"] * 5
        assert far.asked == 5
        assert not breaker.is_open

    in_virtual_time(story)


def test_after_some_failures_in_a_row_it_is_left_alone() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        far.works = False
        await left(breaker, far, MOST_FAILURES - 1)
        far.works = True
        await breaker.ask(far.answer)
        far.works, far.asked = False, 0
        await left(breaker, far, 10)
        assert far.asked == MOST_FAILURES
        assert breaker.is_open

    in_virtual_time(story)


def test_what_takes_too_long_is_no_answer() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        far.takes = PATIENCE * 100
        began = asyncio.get_running_loop().time()
        await left(breaker, far, 10)
        assert asyncio.get_running_loop().time() - began == pytest.approx(MOST_FAILURES * PATIENCE, rel=0.01)

    in_virtual_time(story)


def test_what_is_slow_every_time_is_taken_and_then_left_alone_until_it_is_quick_again() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        far.takes = PATIENCE * 0.8
        assert [await breaker.ask(far.answer) for _ in range(MOST_FAILURES)] == ["yes"] * MOST_FAILURES
        await left(breaker, far, 10)
        await asyncio.sleep(LONGEST_PAUSE)
        assert await breaker.ask(far.answer) == "yes"
        assert breaker.is_open, "one slow answer more"
        far.takes = 0.0
        await asyncio.sleep(LONGEST_PAUSE)
        assert await breaker.ask(far.answer) == "yes"
        assert not breaker.is_open

    in_virtual_time(story)


def test_what_is_slow_now_and_then_is_not_left_alone() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        for takes in (PATIENCE * 0.8, PATIENCE * 0.8, PATIENCE * 0.4) * 3:
            far.takes = takes
            await breaker.ask(far.answer)
        assert not breaker.is_open

    in_virtual_time(story)


def test_one_caller_tries_it_after_a_while_and_the_others_are_told_at_once() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        far.works = False
        await left(breaker, far, MOST_FAILURES)
        await asyncio.sleep(LONGEST_PAUSE)
        far.asked, far.takes, far.works = 0, PATIENCE / 4, True
        first = asyncio.create_task(breaker.ask(far.answer))
        await asyncio.sleep(0)
        await left(breaker, far, 10)
        assert far.asked == 1
        assert await first == "yes"
        assert await breaker.ask(far.answer) == "yes"

    in_virtual_time(story)


def test_a_probe_that_is_given_up_leaves_the_next_one_free() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        far.works = False
        await left(breaker, far, MOST_FAILURES)
        await asyncio.sleep(LONGEST_PAUSE)
        far.takes, far.works = PATIENCE / 4, True
        probe = asyncio.create_task(breaker.ask(far.answer))
        await asyncio.sleep(0)
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
        assert await breaker.ask(far.answer) == "yes"

    in_virtual_time(story)


def test_the_longer_it_is_away_the_less_it_is_tried() -> None:
    async def story(far: Far, breaker: Breaker) -> None:
        far.works = False
        for _ in range(3_600):
            await left(breaker, far)
            await asyncio.sleep(0.1)
        assert far.asked < 40
        far.works = True
        await asyncio.sleep(LONGEST_PAUSE)
        assert await breaker.ask(far.answer) == "yes"

    in_virtual_time(story)


def test_the_log_has_one_line_when_it_goes_and_one_when_it_is_back() -> None:
    lines: list[str] = []

    async def main(world: World) -> None:
        far, breaker = Far(), Breaker("the far side", (Trouble,), PATIENCE)
        far.works = False
        for _ in range(100):
            await left(breaker, far)
            await asyncio.sleep(0.5)
        far.works = True
        await asyncio.sleep(LONGEST_PAUSE)
        await breaker.ask(far.answer)
        lines.extend(line for line in world.trace() if "breaker" in line)

    World(1).run(main)
    assert len(lines) == 2
    assert "left alone" in lines[0]
    assert "works again" in lines[1]


def test_every_failure_is_told() -> None:
    failures: list[None] = []

    async def main(_: World) -> None:
        far = Far()
        far.works = False
        breaker = Breaker("the far side", (Trouble,), PATIENCE, lambda: failures.append(None))
        await left(breaker, far, 10)

    World(1).run(main)
    assert len(failures) == MOST_FAILURES


def test_other_errors_are_nobodys_but_the_callers() -> None:
    async def broken() -> str:
        raise KeyError("a mistake")

    async def main(_: World) -> None:
        with pytest.raises(KeyError):
            await Breaker("the far side", (Trouble,), PATIENCE).ask(broken)

    World(1).run(main)
