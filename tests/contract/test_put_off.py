"""What cannot be taken up through no fault of its own waits, and is not held to bring its owners down."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.handlers import Done
from muster.engine.ports import NotWritten
from muster.engine.program import Program
from muster.engine.taking import Taking
from muster.model.json import Json
from muster.model.workflow import Definition, Edge, EdgeType
from muster.store.database import Database
from muster.store.tables import execution_takeover, workflow_execution

E = workflow_execution.c
ROWS: list[Json] = [f"the {place}th of many" for place in range(5000)]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def gone(database: Database, told: Told) -> House:
    """Whose executions are to be taken up by another."""
    return House(database, told)


@pytest.fixture
def heir(database: Database, told: Told) -> House:
    """Another that has nothing loaded yet."""
    return House(database, told)


async def left_at_b(gone: House, told: Told) -> str:
    told.hangs_at = "b"
    execution = await gone.start()
    await told.hanging.wait()
    told.hangs_at = None
    return execution


async def change(house: House, **values: object) -> None:
    changed = update(workflow_execution).values(**values)
    await house.database.write(lambda connection: connection.execute(changed))


async def noted(house: House) -> int:
    count = select(func.count()).select_from(execution_takeover)
    return await house.database.read(lambda connection: connection.execute(count).scalar_one())


async def test_executions_of_a_version_that_cannot_be_loaded_wait_for_it(
    gone: House, heir: House, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    await gone.define(chain(node("a"), node("b")))
    execution = await left_at_b(gone, told)
    assert await heir.instance.take_back() == 1
    before = heir.clock.now()
    for _ in range(7):
        await change(heir, owner="there/1", lease_until=NOON, resume_at=None)
        assert await heir.instance.take_abandoned() == 1
        row: Any = await heir.row(execution)
        assert (row["owner"], row["lease_until"], row["takeovers"]) == (None, None, 0)
        assert row["resume_at"] > before + timedelta(seconds=30), "nobody is kept busy by it"
    assert await noted(heir) == 0
    assert len([line for line in caplog.records if "cannot be taken up" in line.message]) == 1
    heir.programs = gone.programs
    await change(heir, resume_at=NOON)
    assert await heir.instance.take_due() == 1
    await heir.instance.ended(execution)
    assert (await heir.row(execution))["status"] == "COMPLETED"


async def test_a_due_execution_keeps_the_takeovers_that_it_had(gone: House, heir: House) -> None:
    await gone.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    execution = await gone.run()
    await change(gone, resume_at=NOON, takeovers=3)
    assert await heir.instance.take_due() == 1
    row = await heir.row(execution)
    assert (row["owner"], row["takeovers"]) == (None, 3)


async def test_a_store_that_is_away_while_values_are_read_is_no_fault_of_the_execution(
    gone: House, heir: House, told: Told
) -> None:
    edge = Edge("a", "b", EdgeType.CONDITIONAL, condition="#{rows.size() > 9}", value=True)
    await gone.define(Definition("deciding", (node("a"), node("b")), (edge,)))
    told.answers = [Done({"rows": ROWS}, {"rows": ROWS})]
    execution = await left_at_b(gone, told)
    heir.programs = gone.programs
    read = heir.executions.large_values

    async def away(execution_id: str, digests: Collection[str]) -> Mapping[str, Json]:
        heir.executions.large_values = read  # type: ignore[method-assign]  # it is back
        raise NotWritten("away")

    heir.executions.large_values = away  # type: ignore[method-assign]  # the store is away once
    assert await heir.instance.take_back() == 1
    row = await heir.row(execution)
    assert (row["owner"], row["takeovers"]) == (None, 0)
    await change(heir, resume_at=NOON)
    assert await heir.instance.take_due() == 1
    await heir.instance.ended(execution)
    assert (await heir.row(execution))["status"] == "COMPLETED"


async def test_putting_off_happens_once_and_not_to_what_another_has_claimed(gone: House, told: Told) -> None:
    await gone.define(chain(node("a"), node("b")))
    execution = await left_at_b(gone, told)
    await change(gone, takeovers=2, lease_until=NOON)
    store, pause = gone.executions, timedelta(0)
    mine = await store.claim_abandoned("there/1", 10, 2)
    await change(gone, lease_until=NOON)
    theirs = await store.claim_abandoned("elsewhere/1", 10, 3)
    await store.put_off(mine, pause, uncount=True)
    row = await gone.row(execution)
    assert (row["owner"], row["takeovers"]) == ("elsewhere/1", 4)
    for _ in range(2):
        await store.put_off(theirs, pause, uncount=True)
    row = await gone.row(execution)
    assert (row["owner"], row["takeovers"]) == (None, 3)


async def test_a_store_that_is_away_while_a_version_is_loaded_is_no_fault_of_the_version(
    gone: House, heir: House, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    await gone.define(chain(node("a"), node("b")))
    execution = await left_at_b(gone, told)

    async def away(version_id: int) -> Program:
        raise NotWritten("away")

    taking = Taking(heir.executions, away, heir.clock, 5, lambda: None)
    await heir.executions.end_leases(heir.instance.name.owner, "here/")
    taken = await heir.executions.claim_abandoned(heir.instance.name.owner, 10, 0)
    assert await taking.take_up(taken, is_takeover=True) == []
    row: Any = await heir.row(execution)
    assert (row["owner"], row["takeovers"]) == (None, 0)
    assert row["resume_at"] < heir.clock.now() + timedelta(seconds=30), "it is back any moment"
    assert caplog.records == []
