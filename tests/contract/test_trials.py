"""Executions whose owners go down again and again: only what brings them down is given up."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select, update

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.tables import workflow_execution

E = workflow_execution.c
INNOCENTS = 30


class Deadly(Told):
    """The node of one execution brings its owner down, and so nothing beside it gets any further either."""

    culprit = ""
    is_down = False

    async def tell(self, params: JsonObject, call: Call) -> Done | Failure:
        if call.execution_id == self.culprit:
            self.is_down = True
        await asyncio.sleep(0)  # whoever is taken up together has begun by now
        if self.is_down:
            await asyncio.Event().wait()
        return await super().tell(params, call)


@pytest.fixture
def told() -> Deadly:
    return Deadly()


@pytest.fixture
def house(database: Database, told: Deadly) -> House:
    return House(database, told)


async def put(house: House, **columns: object) -> str:
    """An execution that somebody who is gone has left behind at its first node."""
    at = house.clock.now()
    row: dict[str, object] = {
        "id": house.ids.new(),
        "workflow_id": "w1",
        "workflow_version_id": 1,
        "status": "RUNNING",
        "given": {},
        "context": {},
        "owner": "gone/1",
        "lease_until": NOON,
        "fence": 1,
        "started_at": at,
        "updated_at": at,
    }
    row |= columns
    await house.database.write(lambda connection: connection.execute(insert(workflow_execution), [row]))
    return str(row["id"])


async def change(house: House, **values: object) -> None:
    live = update(workflow_execution).where(E.owner.is_not(None)).values(**values)
    await house.database.write(lambda connection: connection.execute(live))


async def statuses(house: House) -> dict[str, str]:
    rows = await house.database.read(lambda connection: connection.execute(select(E.id, E.status)).all())
    return {row.id: row.status for row in rows}


async def test_bad_company_is_no_crime(house: House, told: Deadly) -> None:
    await house.define(chain(node("a"), node("b")))
    innocents = {await put(house) for _ in range(INNOCENTS)}
    told.culprit = await put(house)
    for number in range(100):
        # Whoever was there before has gone down with all that it drove; or it has done all that it took.
        next_one = House(house.database, told, f"place-{number}")
        next_one.programs, told.is_down = house.programs, False
        while await next_one.instance.take_abandoned() and not told.is_down:
            await settled(next_one, told)
        await change(house, lease_until=NOON)
        if "RUNNING" not in (found := await statuses(house)).values():
            break
    assert found.pop(told.culprit) == "FAILED"
    assert found == dict.fromkeys(innocents, "COMPLETED")


async def settled(house: House, told: Deadly) -> None:
    """Until all that it drives has ended, or it went down."""
    for _ in range(20_000):
        if told.is_down or not house.instance.driving:
            return
        await asyncio.sleep(0.001)


async def test_an_instance_drives_only_so_many_suspects_at_once(house: House, told: Deadly) -> None:
    await house.define(chain(node("a")))
    told.is_down = True  # nothing comes any further
    for _ in range(10):
        await put(house, takeovers=2)
    assert await house.instance.take_abandoned() == 2
    assert await house.instance.take_abandoned() == 0, "they are on trial"
    fresh = await put(house)
    assert await house.instance.take_abandoned() == 1, "who lost an owner once does not wait for them"
    assert (await house.row(fresh))["takeovers"] == 1


async def test_of_many_suspects_an_eighth_is_tried_at_a_time(house: House, told: Deadly) -> None:
    await house.define(chain(node("a")))
    for _ in range(40):
        await put(house, takeovers=2)
    assert await house.instance.take_abandoned() == 5
    await settled(house, told)
    assert await house.instance.take_abandoned() == 5, "of those 35 that are left"


async def test_who_has_waited_long_enough_is_not_kept_waiting_by_others_that_come_no_further(
    house: House, told: Deadly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.engine.trials.LONGEST_WAIT", 0.0)
    await house.define(chain(node("a")))
    told.is_down = True
    for _ in range(10):
        await put(house, takeovers=2)
    assert await house.instance.take_abandoned() == 2
    await asyncio.sleep(0.02)  # the loop's clock has moved on
    assert await house.instance.take_abandoned() == 8


async def test_a_suspect_that_makes_progress_makes_room(house: House, told: Deadly) -> None:
    await house.define(chain(node("a")))
    for _ in range(3):
        await put(house, takeovers=4)
    for _ in range(3):
        assert await house.instance.take_abandoned() == 1
        await settled(house, told)
    assert set((await statuses(house)).values()) == {"COMPLETED"}


async def test_what_waits_to_be_tried_is_not_counted_as_taken_over(house: House, told: Deadly) -> None:
    await house.define(chain(node("a")))
    told.is_down = True
    for _ in range(3):
        await put(house, takeovers=4)
    assert await house.instance.take_abandoned() == 1
    counted = select(E.takeovers, func.count()).group_by(E.takeovers).order_by(E.takeovers)
    rows = await house.database.read(lambda connection: connection.execute(counted).all())
    assert [tuple(row) for row in rows] == [(4, 2), (5, 1)]


async def test_an_instance_takes_on_no_more_than_it_has_places_for(database: Database, told: Deadly) -> None:
    house = House(database, told, most_driven=3)
    await house.define(chain(node("a")))
    told.is_down = True
    for _ in range(2):
        await put(house)
    await put(house, owner=None, lease_until=None, resume_at=NOON)
    await put(house, owner=None, lease_until=None, resume_at=NOON)
    assert await house.instance.take_abandoned() == 2
    assert await house.instance.take_due() == 1
    assert await house.instance.take_due() == 0
    started = await house.start()
    row = await house.row(started)
    assert (row["owner"], row["status"]) == (None, "RUNNING"), "it is ready for whoever has a place"
    assert row["resume_at"] is not None
    assert house.instance.driving == 3


async def test_more_leases_are_renewed_and_let_go_of_than_a_statement_can_name(house: House) -> None:
    await house.define(chain(node("a")))
    at = house.clock.now()
    same = {"workflow_id": "w1", "workflow_version_id": 1, "status": "RUNNING", "given": {}, "context": {}}
    held = {"owner": "here/1", "lease_until": at, "fence": 1, "started_at": at, "updated_at": at}
    ids = [f"{number:036}" for number in range(35_000)]
    there = ids[::16]
    rows = [{"id": each, **same, **held} for each in there]
    await house.database.write(lambda connection: insert_rows(connection, workflow_execution, rows))
    assert set(await house.executions.renew("here/1", ids)) == set(there)
    until = select(func.min(E.lease_until))
    shortest = await house.database.read(lambda connection: connection.execute(until).scalar_one())
    assert shortest > at + timedelta(seconds=20)
    assert await house.executions.release("here/1") == len(there)


async def test_where_others_go_down_without_it_an_execution_has_further_chances(
    house: House, told: Deadly
) -> None:
    await house.define(chain(node("a")))
    told.is_down = True
    execution = await put(house)
    for number in range(5):
        await house.executions.claim_abandoned(f"gone/{number}", 1, number)
        await change(house, lease_until=NOON)
    for number in range(10):
        await house.executions.end_leases(f"there/{number}", "there/")
    told.is_down = False
    assert await house.instance.take_abandoned() == 1
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"
