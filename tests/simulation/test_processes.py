"""Processes that crash, and what their crash leaves."""

import asyncio

import pytest

from muster.sim.world import Process, World, current_process


def test_a_crash_ends_every_task_where_it_is_and_runs_no_handler() -> None:
    heard: list[str] = []

    async def tick(name: str) -> None:
        try:
            while True:
                await asyncio.sleep(1)
                heard.append(name)
        finally:
            heard.append("finally")

    async def serve() -> None:
        child = asyncio.create_task(tick("child"))
        await tick("main")
        await child

    async def main(world: World) -> list[str]:
        process = world.process("app")
        process.start(serve())
        world.loop.call_later(2.5, process.crash)
        assert await process.ended()
        await asyncio.sleep(10)
        return list(heard)

    assert sorted(World(0).run(main)) == ["child", "child", "main", "main"]


def test_a_process_that_crashes_itself_does_not_go_on() -> None:
    heard: list[str] = []

    async def serve(process: Process) -> None:
        process.crash()
        await asyncio.sleep(0)
        heard.append("went on")

    async def main(world: World) -> None:
        process = world.process("app")
        process.start(serve(process))
        assert await process.ended()

    World(0).run(main)
    assert heard == []


def test_neither_what_is_ready_nor_what_is_timed_runs_after_the_crash() -> None:
    heard: list[str] = []

    async def serve(process: Process) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(heard.append, "ready")
        loop.call_later(1, heard.append, "timed")
        process.crash()

    async def main(world: World) -> None:
        process = world.process("app")
        process.start(serve(process))
        await asyncio.sleep(5)

    World(0).run(main)
    assert heard == []


def test_a_future_that_is_resolved_later_does_not_wake_the_dead() -> None:
    heard: list[str] = []

    async def serve(answer: "asyncio.Future[None]") -> None:
        await answer
        heard.append("woke")

    async def main(world: World) -> None:
        answer = world.loop.create_future()
        process = world.process("app")
        process.start(serve(answer))
        await asyncio.sleep(1)
        process.crash()
        answer.set_result(None)
        await asyncio.sleep(1)

    World(0).run(main)
    assert heard == []


def test_a_process_that_comes_to_its_end_says_so_and_takes_its_tasks_along() -> None:
    heard: list[str] = []

    async def linger() -> None:
        await asyncio.sleep(5)
        heard.append("lingered")

    async def serve() -> None:
        world_task = asyncio.create_task(linger())
        await asyncio.sleep(1)
        assert not world_task.done()

    async def main(world: World) -> None:
        process = world.process("app")
        process.start(serve())
        assert not await process.ended()
        await asyncio.sleep(10)

    World(0).run(main)
    assert heard == []


def test_an_error_of_a_process_reaches_who_watches_it() -> None:
    async def serve() -> None:
        raise LookupError("lost")

    async def main(world: World) -> None:
        process = world.process("app")
        process.start(serve())
        await process.ended()

    with pytest.raises(LookupError, match="lost"):
        World(0).run(main)


def test_code_knows_its_process_and_what_runs_outside_outlives_it() -> None:
    heard: list[str | None] = []

    def name() -> str | None:
        process = current_process()
        return process.name if process else None

    async def outside() -> None:
        await asyncio.sleep(2)
        heard.append(name())

    async def serve(world: World) -> None:
        heard.append(name())
        await world.outside(outside(), "helper")
        heard.append("not reached")

    async def main(world: World) -> None:
        process = world.process("app")
        process.start(serve(world))
        world.loop.call_later(1, process.crash)
        await asyncio.sleep(5)

    World(0).run(main)
    assert heard == ["app", None]
