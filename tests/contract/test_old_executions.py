"""Executions that ended long ago go with all that belongs to them; what is live, or somebody needs, stays."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import Table, delete, func, insert, select, update

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.state import Failure
from muster.store import old_executions
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.old_executions import ANEW_SECONDS, OldExecutions
from muster.store.tables import (
    dead_letter,
    delivery,
    execution_child,
    execution_tag,
    node_execution,
    workflow_execution,
)

E = workflow_execution.c
MONTH = timedelta(days=30)
ALL = 1000


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def house(database: Database, told: Told) -> House:
    found = House(database, told)
    await found.define(chain(node("a"), node("b")))
    return found


async def age(house: House, *ids: str, days: float = 60) -> None:
    """Let it have been so long since they last changed."""

    def make_older(connection) -> None:
        at = now(connection) - timedelta(days=days)
        those = update(workflow_execution).where(E.id.in_(ids))
        connection.execute(those.values(updated_at=at))
        connection.execute(those.where(E.completed_at.is_not(None)).values(completed_at=at))

    await house.database.write(make_older)


async def kept(house: House) -> set[str]:
    return set(await house.database.read(lambda one: one.scalars(select(E.id)).all()))


async def count(house: House, table: Table) -> int:
    counted = select(func.count()).select_from(table)
    return await house.database.read(lambda one: one.execute(counted).scalar_one())


async def do(house: House, statement) -> None:
    await house.database.write(lambda connection: connection.execute(statement))


def sweep(house: House) -> OldExecutions:
    return OldExecutions(house.database, MONTH)


async def test_what_ended_long_ago_goes_with_its_rows_and_the_rest_stays(house: House) -> None:
    old, young = await house.run(), await house.run()
    facts = {"key_hash": "k", "node_id": "a", "item_key": "", "channel": "email", "recipient": "ada"}
    sent = insert(delivery).values(execution_id=old, status="SENT", created_at=NOON, **facts)
    await do(house, sent)
    await do(house, insert(execution_tag).values(tag="t", execution_id=old))
    await age(house, old)
    await age(house, young, days=29)
    assert await sweep(house).forget_expired(ALL) == 1
    assert await kept(house) == {young}
    assert (await count(house, delivery), await count(house, execution_tag)) == (0, 0)
    assert await count(house, node_execution) == len(await house.journal(young))


async def test_what_has_not_ended_stays_however_old_it_is(house: House, told: Told) -> None:
    told.pauses_at = "b"
    running = await house.start()
    await told.hanging.wait()
    await age(house, running, days=900)
    await sweep(house).forget_expired(ALL)
    assert await kept(house) == {running}
    told.go_on.set()
    await house.instance.ended(running)
    assert (await house.row(running))["status"] == "COMPLETED"


async def test_a_child_stays_while_its_parent_does_and_goes_after_it(house: House, told: Told) -> None:
    parent, child = await house.run(), await house.run()
    await do(house, update(workflow_execution).where(E.id == child).values(parent_execution_id=parent))
    await age(house, child)
    seconds = [0.0]
    keeping = OldExecutions(house.database, MONTH, lambda: seconds[0])
    await keeping.forget_expired(ALL)
    assert await kept(house) == {parent, child}
    await age(house, parent)
    seconds[0] += ANEW_SECONDS + 1
    for _ in range(2):
        await keeping.forget_expired(ALL)
    assert await kept(house) == set()


async def test_who_is_waited_for_and_whose_dead_letter_is_open_stays(house: House, told: Told) -> None:
    told.answers = [Failure("Refused", "no")]
    failed, awaited = await house.run(), await house.run()
    facts = {"node_id": "a", "visit": 1, "item_key": "", "place": 0, "held": False, "stops": False}
    await do(house, insert(execution_child).values(child_execution_id=awaited, execution_id="p", **facts))
    assert await count(house, dead_letter) == 1
    await age(house, failed, awaited)
    await sweep(house).forget_expired(ALL)
    assert await kept(house) == {failed, awaited}
    await do(house, update(dead_letter).values(status="dismissed"))
    await do(house, delete(execution_child))
    await sweep(house).forget_expired(ALL)
    assert (await kept(house), await count(house, dead_letter)) == (set(), 0)


async def test_they_go_a_few_at_a_time_past_those_that_stay_while_others_start(
    house: House, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_executions, "MOST_ROWS", 5)  # two executions of two nodes
    old = [await house.run() for _ in range(12)]
    told.pauses_at = "b"
    resting = await house.start()
    await told.hanging.wait()
    told.pauses_at = None
    await age(house, resting, days=900)
    await age(house, *old)
    keeping, starting = sweep(house), asyncio.gather(*(house.run() for _ in range(12)))
    left, more = {*old, resting}, True
    while more:
        more = await keeping.forget_expired(4) == 4
        now_left = await kept(house) & left
        assert len(left - now_left) <= 2, "no more than have five rows"
        left = now_left
    assert await kept(house) == {resting, *await starting}
    told.go_on.set()
    await house.instance.ended(resting)
