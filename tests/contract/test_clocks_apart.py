"""An instance whose clock is not the database's: it neither spins, nor parks again what is due there."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from clocks import NOON, ShiftedClock
from engine_house import House, Told, chain, node
from muster.kit.clock import SystemClock
from muster.store.database import Database
from muster.store.tables import workflow_execution

E = workflow_execution.c
HOUR = timedelta(hours=1)


def apart(by: timedelta) -> ShiftedClock:
    clock = ShiftedClock()
    clock.ahead = by
    return clock


async def change(house: House, **values: object) -> None:
    changed = update(workflow_execution).values(**values)
    await house.database.write(lambda connection: connection.execute(changed))


async def parked(house: House) -> str:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 600}), node("b")))
    return await house.run()


async def test_who_is_ahead_of_the_database_sleeps_until_something_is_due_there(database: Database) -> None:
    house = House(database, Told(), clock=apart(HOUR))
    await parked(house)
    await change(house, resume_at=SystemClock().now() + timedelta(minutes=10))
    left = await house.executions.next_due()
    assert left is not None
    assert timedelta(minutes=5) < left <= timedelta(minutes=10), "by the database's clock"
    await house.instance.take_back()
    assert await house.instance.due_pass() > 0.1


async def test_what_is_due_there_and_cannot_be_had_is_not_asked_for_without_pause(database: Database) -> None:
    house = House(database, Told(), most_driven=0)
    await house.define(chain(node("a", "SLEEP", config={"seconds": 600})))
    await house.run()
    await change(house, resume_at=NOON)
    await house.instance.take_back()
    assert await house.instance.due_pass() > 0


@pytest.mark.parametrize("by", [-HOUR, timedelta(0), HOUR])
async def test_what_was_claimed_because_it_is_due_goes_on(database: Database, by: timedelta) -> None:
    house = House(database, Told(), clock=apart(by))
    execution = await parked(house)
    due = SystemClock().now() - timedelta(seconds=1)
    state = (await house.row(execution))["state"]
    assert isinstance(state, dict)
    [token] = state["tokens"]
    token["due"] = due.isoformat()
    await change(house, resume_at=due, state=state)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"
