"""The event loop of the simulation."""

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from muster.sim.loop import Deadlock, Runaway
from muster.sim.world import BEGINNING, Unnoticed, World


def test_a_day_of_sleeping_takes_a_day_of_virtual_time_only() -> None:
    world = World(0)

    async def main(world: World) -> None:
        await asyncio.sleep(86_400)

    world.run(main)
    assert timedelta(days=1) <= world.clock.now() - BEGINNING < timedelta(days=1, seconds=1)


def test_timers_fire_in_the_order_of_their_times() -> None:
    heard: list[int] = []

    async def main(world: World) -> None:
        for delay in (3, 1, 2):
            world.loop.call_later(delay, heard.append, delay)
        await asyncio.sleep(4)

    World(0).run(main)
    assert heard == [1, 2, 3]


def test_a_cancelled_timer_does_not_fire() -> None:
    heard: list[str] = []

    async def main(world: World) -> None:
        world.loop.call_later(1, heard.append, "cancelled").cancel()
        world.loop.call_later(1, heard.append, "kept")
        await asyncio.sleep(2)

    World(0).run(main)
    assert heard == ["kept"]


async def order_of_three(world: World) -> str:
    done: list[str] = []

    async def step(name: str) -> None:
        await asyncio.sleep(0)
        done.append(name)

    await asyncio.gather(*(step(name) for name in "abc"))
    return "".join(done)


def test_seeds_reach_every_order_of_what_is_ready() -> None:
    assert {World(seed).run(order_of_three) for seed in range(60)} == {
        "abc",
        "acb",
        "bac",
        "bca",
        "cab",
        "cba",
    }


def test_asyncio_s_own_tools_work_on_it() -> None:
    async def main(world: World) -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(1)

        async def produce() -> None:
            for number in range(5):
                await queue.put(number)

        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            assert [await queue.get() for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        task = asyncio.create_task(asyncio.sleep(10))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.Lock(), asyncio.Semaphore(1):
            done, pending = await asyncio.wait([asyncio.create_task(asyncio.sleep(1))])
        assert (len(done), len(pending)) == (1, 0)

    for seed in range(20):
        World(seed).run(main)


def test_when_nothing_can_happen_any_more_it_says_where_everyone_waits() -> None:
    async def waits_for_nobody() -> None:
        await asyncio.Event().wait()

    async def main(world: World) -> None:
        await asyncio.gather(waits_for_nobody(), asyncio.sleep(5))

    with pytest.raises(Deadlock, match=r"5\.\d+ s[\s\S]*in waits_for_nobody"):
        World(0).run(main)


def test_going_round_in_circles_is_noticed() -> None:
    async def main(world: World) -> None:
        again = partial(world.loop.call_soon, lambda: again())
        again()
        await asyncio.Event().wait()

    with pytest.raises(Runaway, match="100 steps"):
        World(0, most_steps=100).run(main)


def test_what_the_main_task_raises_reaches_the_caller() -> None:
    async def main(world: World) -> None:
        raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        World(0).run(main)


def test_an_error_in_a_callback_is_not_lost() -> None:
    async def main(world: World) -> None:
        world.loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    with pytest.raises(Unnoticed, match="ZeroDivisionError"):
        World(0).run(main)


def test_a_task_that_fails_unseen_is_not_lost() -> None:
    async def fail() -> None:
        raise ValueError("unseen")

    async def main(world: World) -> None:
        failing = asyncio.create_task(fail())
        await asyncio.sleep(1)
        del failing

    with pytest.raises(Unnoticed, match="unseen"):
        World(0).run(main)


def test_there_are_no_threads() -> None:
    async def main(world: World) -> None:
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="a simulation has none"):
        World(0).run(main)


async def test_it_does_not_run_inside_another_loop() -> None:
    with pytest.raises(RuntimeError, match="inside a running event loop"):
        World(0).run(order_of_three)


def test_ids_and_time_come_from_the_seed() -> None:
    async def main(world: World) -> tuple[str, str]:
        first = world.ids.new()
        await asyncio.sleep(1)
        return first, world.ids.new()

    once, again, other = World(1).run(main), World(1).run(main), World(2).run(main)
    assert once == again != other
    assert once[0] < once[1]
    assert once[0][14] == "7"
