"""A simulated database: committed stays, uncommitted is gone, and faults happen as chosen."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, insert, select
from sqlalchemy.exc import OperationalError

from muster.sim.database import Fault, FaultyDatabase, by_chance, by_script
from muster.sim.world import World
from muster.store import dialect
from muster.store.database import CommitUnknown, Unavailable
from muster.store.open import inline_database

MARKS = Table("mark", MetaData(), Column("number", Integer, primary_key=True))


def marked(connection: Connection) -> list[int]:
    return list(connection.execute(select(MARKS.c.number).order_by(MARKS.c.number)).scalars())


async def mark(database: FaultyDatabase, number: int) -> str:
    try:
        await database.write(
            lambda connection: connection.execute(insert(MARKS), {"number": number}) and None
        )
    except (Unavailable, CommitUnknown) as error:
        return type(error).__name__
    return "told"


async def outcome(world: World, fault: Fault) -> tuple[list[str], bool, list[int]]:
    """What a client heard that writes twice, of which the second meets the fault; whether it crashed; what is
    there afterwards."""
    real = inline_database(clock=world.clock)
    await real.write(MARKS.create)
    database = FaultyDatabase(real, world, by_script({1: fault}))
    heard: list[str] = []

    async def client() -> None:
        heard.append(await mark(database, 1))
        heard.append(await mark(database, 2))

    process = world.process("client")
    process.start(client())
    crashed = await process.ended()
    await asyncio.sleep(1)
    there = await real.read(marked)
    await real.close()
    return heard, crashed, there


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault.NONE, (["told", "told"], False, [1, 2])),
        (Fault.UNAVAILABLE, (["told", "Unavailable"], False, [1])),
        (Fault.COMMIT_LOST, (["told", "CommitUnknown"], False, [1])),
        (Fault.ANSWER_LOST, (["told", "CommitUnknown"], False, [1, 2])),
        (Fault.CRASH_BEFORE, (["told"], True, [1])),
        (Fault.CRASH_AFTER, (["told"], True, [1, 2])),
    ],
)
def test_each_fault_leaves_what_it_says(fault: Fault, expected: object) -> None:
    async def main(world: World) -> object:
        return await outcome(world, fault)

    assert World(3).run(main) == expected


def test_what_was_sent_still_commits_when_its_sender_crashes_while_it_travels() -> None:
    async def main(world: World) -> list[int]:
        real = inline_database(clock=world.clock)
        await real.write(MARKS.create)
        process = world.process("client")
        process.start(mark(FaultyDatabase(real, world, by_script({}), slowest=10), 7))
        await asyncio.sleep(0.001)
        process.crash()
        assert await real.read(marked) == []
        await asyncio.sleep(20)
        there = await real.read(marked)
        await real.close()
        return there

    assert World(0).run(main) == [7]


def test_chance_chooses_every_fault_about_as_often_as_asked() -> None:
    choose = by_chance(World(0), "odds", {Fault.UNAVAILABLE: 0.2, Fault.CRASH_AFTER: 0.1})
    chosen = [choose() for _ in range(10_000)]
    assert 1_800 < chosen.count(Fault.UNAVAILABLE) < 2_200
    assert 850 < chosen.count(Fault.CRASH_AFTER) < 1_150
    assert set(chosen) == {Fault.NONE, Fault.UNAVAILABLE, Fault.CRASH_AFTER}


def test_a_refused_statement_is_the_caller_s_error_under_every_fault_that_reaches_the_database() -> None:
    async def main(world: World) -> None:
        real = inline_database(clock=world.clock)
        database = FaultyDatabase(real, world, by_script({0: Fault.COMMIT_LOST, 1: Fault.ANSWER_LOST}))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await database.write(lambda connection: 1 / 0)
        await real.close()

    World(0).run(main)


def test_the_database_s_clock_is_the_world_s() -> None:
    async def main(world: World) -> None:
        database = inline_database(clock=world.clock)
        before = await database.read(dialect.now)
        await asyncio.sleep(3600)
        assert timedelta(hours=1) <= await database.read(dialect.now) - before < timedelta(hours=1, seconds=1)
        await database.close()

    World(0).run(main)


async def write_three_times(world: World) -> list[tuple[str, list[int]]]:
    real = inline_database(clock=world.clock)
    await real.write(MARKS.create)
    database = FaultyDatabase(real, world, lambda: Fault.FAILS_MIDWAY)
    seen = []
    for first in range(0, 300, 10):

        def work(connection: Connection, first: int = first) -> None:
            for number in range(first, first + 3):
                connection.execute(insert(MARKS), {"number": number})

        before = await real.read(marked)
        try:
            await database.write(work)
            heard = "told"
        except OperationalError:
            heard = "failed"
        seen.append((heard, [number for number in await real.read(marked) if number not in before]))
    return seen


def test_work_that_fails_at_one_of_its_statements_leaves_nothing_behind() -> None:
    seen = World(0).run(write_three_times)
    assert {heard for heard, _ in seen} == {"told", "failed"}
    assert all(len(left) == (3 if heard == "told" else 0) for heard, left in seen)
