"""The self-check: nothing that is live is ever without a lease, a due time or an open wait."""

import logging
from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import update

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine import self_check
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.store.database import Database
from muster.store.self_check import SelfCheck
from muster.store.tables import workflow_execution


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


async def found_in(house: House) -> Sequence[str]:
    return await SelfCheck(house.database).unattended()


async def change(house: House, execution: str, **values: object) -> None:
    broken = update(workflow_execution).where(workflow_execution.c.id == execution).values(values)
    await house.database.write(lambda connection: connection.execute(broken))


@pytest.mark.parametrize("config", [{"seconds": 3600}, {"seconds": 0}])
async def test_what_is_parked_or_has_ended_is_attended(house: House, config: dict[str, object]) -> None:
    await house.define(chain(node("a", "SLEEP", config=config)))
    await house.run()
    assert await found_in(house) == []


async def test_what_waits_runs_is_held_or_has_failed_is_attended(house: House, told: Told) -> None:
    await house.define(chain(node("a"), node("b", "ASK")))
    waiting = await house.run()
    assert (await house.row(waiting))["status"] == "WAITING"
    told.answers = [Failure("Refused", "no")]
    assert (await house.row(await house.run()))["status"] == "FAILED"
    await house.signal(waiting, SignalKind.HOLD, {})
    await house.instance.take_due()
    await house.instance.ended(waiting)
    assert (await house.row(waiting))["status"] == "PAUSED"
    told.hangs_at = "a"
    await house.start()
    assert await found_in(house) == []


async def test_what_has_lost_its_lease_or_its_due_time_is_found(house: House, told: Told) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    parked, attended = await house.run(), await house.run()
    await change(house, parked, resume_at=None)
    running = await house.run()
    await change(house, running, status="RUNNING", resume_at=None)
    assert await found_in(house) == [parked, running]
    await change(house, parked, resume_at=NOON)
    await change(house, running, lease_until=NOON + timedelta(seconds=30))
    assert await found_in(house) == []
    assert (await house.row(attended))["status"] == "PAUSED"


async def test_a_look_tells_how_many_there_are_and_names_them(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    lost = await house.run()
    told: list[int] = []
    check = self_check.SelfCheck(SelfCheck(house.database), told.append)
    await check.look()
    await change(house, lost, resume_at=None)
    with caplog.at_level(logging.ERROR):
        await check.look()
    assert told == [0, 1]
    assert lost in caplog.text
