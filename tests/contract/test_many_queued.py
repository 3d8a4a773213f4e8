"""Very many that are queued: looking at them again costs nothing as long as none of them can go on."""

from datetime import timedelta
from typing import Any

import pytest

from clocks import NOON
from muster.store.database import Database
from waiting_house import E, Waiting

ASK = {"id": "ask", "type": "ASK", "config": {}}
CALL = {
    "id": "call",
    "type": "SUB_WORKFLOW",
    "config": {"workflow": "child", "on": "#{xs}", "forEach": {"concurrency": 2}},
}
MANY = 40


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


async def queued(house: Waiting) -> list[Any]:
    return [tuple(row) for row in await house.rows(E.status == "QUEUED")]


async def test_a_look_writes_nothing_of_those_who_have_to_wait_for_a_limit(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    for _ in range(MANY):
        await house.begin("w")
    before = await queued(house)
    assert len(before) == MANY - 1
    assert await house.instance.admit_queued() == 0
    assert await queued(house) == before


async def test_a_look_writes_nothing_of_children_who_wait_for_their_turn(house: Waiting) -> None:
    await house.save("child", ASK)
    await house.save("parent", CALL)
    await house.begin("parent", xs=list(range(MANY)))
    await house.settle()
    before = await queued(house)
    assert len(before) == MANY - 2
    assert await house.instance.admit_queued() == 0
    assert await queued(house) == before


async def test_a_limit_that_was_raised_lets_in_all_that_it_has_room_for_by_one_look(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    for _ in range(MANY):
        await house.begin("w")
    await house.raise_limits(30)
    assert await house.instance.admit_queued() == 29
    assert await house.instance.admit_queued() == 0
    assert len(await queued(house)) == MANY - 30


async def test_whose_time_for_a_look_is_over_has_a_new_one(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    first, second = await house.begin("w"), await house.begin("w")
    await house.change(E.id == second, resume_at=NOON)
    assert await house.instance.admit_queued() == 0
    row = await house.row(second)
    due: Any = row["resume_at"]
    assert row["status"] == "QUEUED"
    assert due > house.clock.now() + timedelta(hours=1)
    assert (await house.row(first))["status"] != "QUEUED"
