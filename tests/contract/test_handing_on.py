"""An instance that leaves, or that drives nothing: what it has is there for the others, at once."""

import asyncio
import math
from datetime import timedelta

import pytest
from sqlalchemy import update

from clocks import NOON, FakeClock
from engine_house import LEASE, House, Told, chain, node
from muster.engine.journal import JournalRow
from muster.engine.owned import Progress
from muster.engine.ports import Lost
from muster.store.database import Database
from muster.store.tables import workflow_execution

A_MOMENT = 0.01
NO_END = 3600.0


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def leaving(database: Database, told: Told) -> House:
    return House(database, told, "leaving")


@pytest.fixture
def staying(database: Database, told: Told, leaving: House) -> House:
    house = House(database, told, "staying")
    house.programs = leaving.programs
    return house


async def test_a_node_that_runs_finishes_and_what_follows_is_handed_on(
    leaving: House, staying: House, told: Told
) -> None:
    await leaving.define(chain(node("a"), node("b")))
    told.pauses_at = "a"
    execution = await leaving.start()
    await told.hanging.wait()
    going = asyncio.create_task(leaving.instance.leave(NO_END))
    await asyncio.sleep(0)
    told.go_on.set()
    await going
    row = await leaving.row(execution)
    assert told.said == ["a"]
    assert (row["status"], row["owner"], row["lease_until"]) == ("RUNNING", None, None)
    assert await staying.instance.take_due() == 1
    await staying.instance.ended(execution)
    row = await leaving.row(execution)
    assert told.said == ["a", "b"], "each once"
    assert (row["status"], row["takeovers"]) == ("COMPLETED", 0)


async def test_what_runs_beyond_the_grace_is_let_go_of_under_a_new_fence(
    leaving: House, staying: House, told: Told
) -> None:
    await leaving.define(chain(node("a"), node("b")))
    told.hangs_at = "b"
    execution = await leaving.start()
    await told.hanging.wait()
    await leaving.instance.leave(A_MOMENT)
    told.hangs_at = None
    late = JournalRow("b", 1, "", 9, 1, "completed", NOON, NOON)
    with pytest.raises(Lost):
        await leaving.executions.write(Progress(execution_id=execution, fence=1, rows=(late,)))
    assert await staying.instance.take_due() == 1
    await staying.instance.ended(execution)
    row = await staying.row(execution)
    assert told.said == ["a", "b", "b"], "a was journaled; b, which had no result, is done again"
    assert (row["status"], row["takeovers"]) == ("COMPLETED", 0)


async def test_a_wait_of_less_than_a_second_is_handed_on_with_its_time(
    database: Database, staying: House, told: Told
) -> None:
    leaving = House(database, told, "leaving", FakeClock())
    leaving.programs = staying.programs
    await leaving.define(chain(node("a", "SLEEP", config={"seconds": 0.9}), node("b")))
    execution = await leaving.start()
    await leaving.instance.leave(NO_END)
    row = await leaving.row(execution)
    assert (row["status"], row["owner"]) == ("PAUSED", None)
    assert row["resume_at"] == NOON + timedelta(seconds=0.9)
    assert await staying.instance.take_due() == 1
    await staying.instance.ended(execution)
    assert (await staying.row(execution))["status"] == "COMPLETED"


async def test_what_an_instance_that_drives_nothing_starts_is_ready_for_anyone(
    leaving: House, staying: House, told: Told
) -> None:
    await leaving.define(chain(node("a")))
    leaving.instance.retire()
    execution = await leaving.start()
    await leaving.instance.ended(execution)
    row = await leaving.row(execution)
    assert (row["status"], row["owner"]) == ("RUNNING", None)
    assert told.said == []
    assert await staying.instance.take_due() == 1
    assert (await staying.row(execution))["status"] in ("RUNNING", "COMPLETED"), "it never paused"
    await staying.instance.ended(execution)
    row = await staying.row(execution)
    assert (row["status"], row["owner"], row["resume_at"]) == ("COMPLETED", None, None)
    assert told.said == ["a"]
    assert await staying.instance.take_due() == 0


async def test_who_has_retired_takes_nothing_that_comes_due(
    database: Database, leaving: House, told: Told
) -> None:
    """It would only hand it on, find it due again, and so on until it has left."""
    await leaving.define(chain(node("a", "SLEEP", config={"seconds": 3600}), node("b")))
    await leaving.instance.take_back()
    execution = await leaving.run()
    before = await leaving.row(execution)
    leaving.instance.retire()
    await leaving.pass_time(hours=2)
    assert await leaving.instance.due_pass() > 0
    assert await leaving.instance.take_due() == 0
    assert (await leaving.row(execution))["fence"] == before["fence"]
    staying = House(database, told, "staying", leaving.clock)
    staying.programs = leaving.programs
    assert await staying.instance.take_due() == 1
    await staying.instance.ended(execution)
    assert (await staying.row(execution))["status"] == "COMPLETED"


async def test_who_has_retired_takes_over_from_nobody(
    database: Database, leaving: House, staying: House, told: Told
) -> None:
    """Handed on, what brings its owners down would look as if it had made progress."""
    await leaving.define(chain(node("a")))
    await leaving.instance.take_back()
    gone = House(database, told, "gone")
    gone.programs = leaving.programs
    told.hangs_at = "a"
    execution = await gone.start()
    await told.hanging.wait()
    told.hangs_at = None
    for takeovers in (0, 2):
        lost = update(workflow_execution).values(lease_until=NOON, takeovers=takeovers)
        await gone.database.write(lambda connection, lost=lost: connection.execute(lost))
        leaving.instance.retire()
        await leaving.instance._abandoned_pass()
        row = await leaving.row(execution)
        assert (row["fence"], row["takeovers"]) == (1, takeovers)
    assert await staying.instance.take_abandoned() == 1
    await staying.instance.ended(execution)
    assert (await staying.row(execution))["status"] == "COMPLETED"


async def test_what_others_hold_or_wait_for_is_not_let_go_of(leaving: House, staying: House) -> None:
    await leaving.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    parked = await leaving.run()
    before = await leaving.row(parked)
    assert await leaving.executions.release(leaving.instance.name.owner) == 0
    assert await leaving.row(parked) == before


async def test_nobody_takes_over_from_itself_after_a_sleep_that_outlasted_its_lease(
    leaving: House, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    await leaving.define(chain(node("a")))
    told.pauses_at = "a"
    monkeypatch.setattr(leaving.executions, "_lease", timedelta(seconds=-1))
    monkeypatch.setattr(leaving.executions._starts._running, "_lease", timedelta(seconds=-1))
    execution = await leaving.start()
    await told.hanging.wait()
    monkeypatch.setattr(leaving.executions, "_lease", LEASE)
    monkeypatch.setattr(leaving.instance, "_renewed", -math.inf)
    await leaving.instance._abandoned_pass()
    told.go_on.set()
    await leaving.instance.ended(execution)
    row = await leaving.row(execution)
    assert (row["status"], row["fence"]) == ("COMPLETED", 1)
    assert told.said == ["a"]


async def test_what_cannot_even_be_taken_up_is_given_up_in_the_end(
    leaving: House, staying: House, told: Told
) -> None:
    await leaving.define(chain(node("a")))
    told.hangs_at = "a"
    execution = await leaving.start()
    await told.hanging.wait()
    nonsense = update(workflow_execution).values(state={"seq": "none", "tokens": 7})
    await leaving.database.write(lambda connection: connection.execute(nonsense))
    for _ in range(6):
        again = House(leaving.database, told, "leaving")
        again.programs = leaving.programs
        assert (await again.row(execution))["status"] == "RUNNING"
        assert await again.instance.take_back() == 1
    row = await again.row(execution)
    assert (row["status"], row["error_type"], row["owner"]) == ("FAILED", "Poisoned", None)


async def test_of_two_with_one_name_the_second_robs_the_first_once_and_both_go_on(
    database: Database, told: Told
) -> None:
    first, second = House(database, told, "same"), House(database, told, "same")
    await first.define(chain(node("a"), node("b")))
    second.programs = first.programs
    await first.instance._abandoned_pass()
    told.pauses_at = "a"
    robbed = await first.start()
    await told.hanging.wait()
    await second.instance._abandoned_pass()
    told.pauses_at = None
    own = await second.start()
    for _ in range(3):
        await first.instance._abandoned_pass()
        await second.instance._abandoned_pass()
    told.go_on.set()
    for house in (first, second):
        await house.instance.ended(robbed)
        await house.instance.ended(own)
    rows = [await first.row(execution) for execution in (robbed, own)]
    assert [(row["status"], row["fence"]) for row in rows] == [("COMPLETED", 2), ("COMPLETED", 1)]
    assert sorted(str(said) for said in told.said) == ["a", "a", "a", "b", "b"], (
        "the robbed one went no further"
    )
