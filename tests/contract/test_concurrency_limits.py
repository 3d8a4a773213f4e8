"""How many executions of a workflow run at once, on every database."""

import asyncio
from typing import Any

import pytest

from engine_house import Told
from muster.engine.actions import Actions, By, Retry
from muster.engine.journal import SignalKind
from muster.model.access import Caller, How, Role
from muster.store.acts import ExecutionActs
from muster.store.database import Database
from muster.store.execution_records import ExecutionRecords
from waiting_house import E, Waiting

ASK = {"id": "ask", "type": "ASK", "config": {}}
ANSWER = {"node": "ask", "visit": 1, "answer": None}
ROOT = Caller("root", frozenset({Role.ADMIN}), None, How.TOKEN)


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


async def statuses(house: Waiting, *conditions: Any) -> list[str]:
    return [row.status for row in await house.rows(*conditions)]


async def test_what_is_beyond_the_limit_is_queued_and_starts_in_order(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 2})
    started = [await house.begin("w", n=n) for n in range(4)]
    await house.settle()
    assert await statuses(house) == ["WAITING", "WAITING", "QUEUED", "QUEUED"]
    queued = await house.row(started[2])
    assert (queued["owner"], queued["lease_until"]) == (None, None)
    assert queued["resume_at"] is not None
    for number, expected in enumerate(
        (["COMPLETED", "WAITING", "WAITING", "QUEUED"], ["COMPLETED", "COMPLETED", "WAITING", "WAITING"])
    ):
        await house.signal(started[number], SignalKind.ANSWER, ANSWER)
        await house.settle()
        assert await statuses(house) == expected


async def test_each_key_has_its_own_limit(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"key": "#{who}", "limit": 1})
    for who in ("ada", "bob", "ada"):
        await house.begin("w", who=who)
    await house.settle()
    assert await statuses(house) == ["WAITING", "WAITING", "QUEUED"]


async def test_starters_on_several_instances_stay_within_the_limit(database: Database) -> None:
    houses = [Waiting(database, name=f"i{number}") for number in range(4)]
    await houses[0].save("w", ASK, concurrency={"limit": 3})

    async def start(house: Waiting) -> None:
        for _ in range(5):
            await house.begin("w")

    await asyncio.gather(*(start(house) for house in houses))
    for house in houses:
        await house.settle()
    assert sorted(await statuses(houses[0])) == ["QUEUED"] * 17 + ["WAITING"] * 3
    ended = 0
    while waiting := await houses[0].rows(E.status == "WAITING"):
        assert len(waiting) <= 3
        answers = [house.signal for house in houses]
        await asyncio.gather(
            *(
                answer(row.id, SignalKind.ANSWER, ANSWER)
                for answer, row in zip(answers, waiting, strict=False)
            )
        )
        ended += len(waiting)
        await asyncio.gather(*(house.settle() for house in houses))
    assert ended == 20
    assert await statuses(houses[0]) == ["COMPLETED"] * 20


async def test_an_owner_that_crashed_still_counts_until_somebody_ends_what_it_held(
    database: Database,
) -> None:
    told = Told()
    before, after = Waiting(database, told), Waiting(database, told)
    await before.save("w", {"id": "a", "type": "TELL", "config": {"say": "#{n}"}}, concurrency={"limit": 1})
    told.hangs_at = 1
    first, second = await before.begin("w", n=1), await before.begin("w", n=2)
    await told.hanging.wait()
    await after.settle()
    assert (await after.row(second))["status"] == "QUEUED"
    told.hangs_at = None
    assert await after.instance.take_back() == 1
    await after.settle()
    assert await statuses(after) == ["COMPLETED", "COMPLETED"]
    assert told.said == [1, 1, 2]
    assert (await after.row(first))["fence"] == 2


async def test_a_queued_execution_is_cancelled_at_once_and_takes_nobodys_place(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    first, second, third = [await house.begin("w") for _ in range(3)]
    await house.settle()
    assert await house.signal(second, SignalKind.CANCEL, {"reason": "no longer"})
    row = await house.row(second)
    assert (row["status"], row["error_message"], row["resume_at"]) == ("CANCELLED", "no longer", None)
    await house.signal(first, SignalKind.ANSWER, ANSWER)
    await house.settle()
    assert (await house.row(third))["status"] == "WAITING"


async def test_a_queued_execution_that_is_paused_runs_nothing_when_its_turn_comes(
    database: Database,
) -> None:
    told = Told()
    house = Waiting(database, told)
    tell = {"id": "a", "type": "TELL", "config": {"say": "#{n}"}}
    await house.save("w", tell, ASK, concurrency={"limit": 1})
    first, second = await house.begin("w", n=1), await house.begin("w", n=2)
    await house.settle()
    await house.signal(second, SignalKind.HOLD, {})
    assert (await house.row(second))["status"] == "QUEUED"
    await house.signal(first, SignalKind.ANSWER, ANSWER)
    await house.settle()
    assert ((await house.row(second))["status"], told.said) == ("PAUSED", [1])
    await house.signal(second, SignalKind.RELEASE, {})
    await house.settle()
    assert ((await house.row(second))["status"], told.said) == ("WAITING", [1, 2])


async def test_a_look_finds_what_was_forgotten(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    first, second = await house.begin("w"), await house.begin("w")
    await house.settle()
    assert await house.instance.admit_queued() == 0, "there is no room"
    # As if the end of the first had told nobody.
    await house.change(E.id == first, status="COMPLETED")
    await house.forget_limit(first)
    assert await house.instance.admit_queued() == 1
    await house.settle()
    assert (await house.row(second))["status"] == "WAITING"


async def test_a_retried_execution_waits_for_its_turn_again(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    first, second = await house.begin("w"), await house.begin("w")
    await house.settle()
    await house.signal(first, SignalKind.CANCEL, {})
    await house.settle()
    assert await statuses(house) == ["CANCELLED", "WAITING"]
    actions = by_hand(house)
    await actions.retry(first, By(ROOT, ""), Retry())
    assert await statuses(house) == ["QUEUED", "WAITING"]
    begun = await actions.replay(second, By(ROOT, ""))
    assert begun.status == "QUEUED"
    await house.signal(second, SignalKind.ANSWER, ANSWER)
    await house.settle()
    assert await statuses(house) == ["WAITING", "COMPLETED", "QUEUED"]


async def test_a_child_comes_under_the_limit_of_its_workflow(house: Waiting) -> None:
    await house.save("child", ASK, concurrency={"key": "#{n % 2}", "limit": 1})
    sub = {"workflow": "child", "on": "#{numbers}", "forEach": {"concurrency": 3, "input": {"n": "#{item}"}}}
    await house.save("parent", {"id": "call", "type": "SUB_WORKFLOW", "config": sub})
    parent = await house.begin("parent", numbers=[0, 2, 1, 3])
    await house.settle()
    seen = []
    while waiting := await house.rows(E.parent_execution_id == parent, E.status == "WAITING"):
        seen.append(sorted(row.context["n"] for row in waiting))
        await house.signal(waiting[0].id, SignalKind.ANSWER, ANSWER)
        await house.settle()
    assert seen == [[0, 1], [1, 2], [1], [3]] or seen == [[0, 1], [1, 2], [2, 3], [3]]
    assert (await house.row(parent))["status"] == "COMPLETED"


async def test_a_workflow_without_a_limit_leaves_no_trace_of_one(house: Waiting) -> None:
    await house.save("w", ASK)
    for _ in range(3):
        await house.begin("w")
    await house.settle()
    assert await statuses(house) == ["WAITING"] * 3
    assert await house.limits() == 0


def by_hand(house: Waiting) -> Actions:
    async def notice() -> None:
        return

    records = ExecutionRecords(house.database)
    return Actions(
        records,
        ExecutionActs(house.committer),
        None,  # type: ignore[arg-type]  # the library is asked for other versions only
        house.known,
        house.clock,
        house.ids,
        notice,
    )
