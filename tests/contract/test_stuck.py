"""What makes no progress in its owner's hands is left to another, as if its owner had gone."""

from datetime import timedelta

from sqlalchemy import update

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.store.database import Database
from muster.store.tables import workflow_execution

AT_ONCE = timedelta(seconds=-1)


async def let_leases_run_out(database: Database) -> None:
    held = update(workflow_execution).where(workflow_execution.c.owner.is_not(None))
    await database.write(lambda connection: connection.execute(held.values(lease_until=NOON)))


async def test_what_hangs_for_too_long_is_taken_over_from_the_journal(database: Database) -> None:
    here = House(database, Told(hangs_at="b"), stuck_after=AT_ONCE)
    await here.define(chain(node("a"), node("b"), node("c")))
    execution = await here.start()
    await here.told.hanging.wait()
    assert here.instance.leave_stuck() == 1
    assert here.instance.driving == 0
    await here.instance.renew()
    await let_leases_run_out(database)
    there = House(database, Told(), "there")
    there.programs = here.programs
    assert await there.instance.take_abandoned() == 1
    await there.instance.ended(execution)
    assert (await there.row(execution))["status"] == "COMPLETED"
    assert (here.told.said, there.told.said) == (["a", "b"], ["b", "c"])


async def test_what_makes_progress_is_kept_however_long_it_takes(database: Database) -> None:
    house = House(database, Told(pauses_at="b"), stuck_after=timedelta(days=1))
    await house.define(chain(node("a"), node("b")))
    execution = await house.start()
    await house.told.hanging.wait()
    assert house.instance.leave_stuck() == 0
    house.told.go_on.set()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_every_durable_step_is_progress(database: Database) -> None:
    house = House(database, Told(pauses_at="b"), stuck_after=timedelta(days=1))
    await house.define(chain(node("a"), node("b")))
    execution = await house.start()
    live = house.instance._driven[execution].live
    began = live.progressed
    await house.told.hanging.wait()
    assert live.progressed > began, "the first node's row is durable"
    house.told.go_on.set()
    await house.instance.ended(execution)
