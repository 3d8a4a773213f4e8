"""What a new owner finds of an execution's history: attempts, signals, compensations, each in its place."""

import pytest
from sqlalchemy import func, select

from clocks import FakeClock
from engine_house import House, Told, chain, node
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.store.database import Database
from muster.store.tables import execution_signal

BUSY = Failure("Busy", "later", retryable=True)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def first(database: Database, told: Told) -> House:
    return House(database, told)


async def next_owner(before: House, told: Told | None = None) -> House:
    """The same instance, started again: it has taken back what its last life held."""
    house = House(before.database, told or before.told)
    house.programs = before.programs
    assert await house.instance.take_back() == 1
    return house


def undone_by(word: str) -> dict[str, object]:
    return {"type": "TELL", "config": {"say": word}}


async def signals_kept(house: House) -> int:
    return await house.database.read(
        lambda connection: connection.scalar(select(func.count()).select_from(execution_signal)) or 0
    )


async def test_a_compensation_has_a_key_of_its_own(first: House, told: Told) -> None:
    await first.define(chain(node("a", compensate=undone_by("undo a")), node("b")))
    told.pauses_at = "b"
    execution = await first.start()
    await told.hanging.wait()
    told.answers = [Failure("Refused", "no")]
    told.go_on.set()
    await first.instance.ended(execution)
    assert told.said == ["a", "b", "undo a"]
    keys = dict(zip(told.said, (key for key, _ in told.did), strict=True))
    assert keys["a"] == f"{execution}:a:1"
    assert keys["undo a"] == f"{execution}:a:1:compensation"


async def test_what_was_undone_after_a_cancellation_is_not_undone_again(first: House, told: Told) -> None:
    nodes = [node(name, compensate=undone_by(f"undo {name}")) for name in "ab"]
    await first.define(chain(*nodes, node("c")))
    told.pauses_at = "c"
    execution = await first.start()
    await told.hanging.wait()
    told.hanging.clear()
    await first.signal(execution, SignalKind.CANCEL, {"compensate": True})
    await first.instance.take_signals()
    told.hangs_at = "undo a"
    told.go_on.set()
    await told.hanging.wait()
    told.hangs_at = None
    second = await next_owner(first)
    await second.instance.ended(execution)
    assert told.said == ["a", "b", "c", "undo b", "undo a", "undo a"], "undoing b was journaled"
    assert (await second.row(execution))["status"] == "CANCELLED"


async def test_a_new_owner_goes_on_counting_attempts(database: Database, told: Told) -> None:
    first = House(database, told, clock=FakeClock())  # to whom the time for the second never comes
    await first.define(chain(node("a", retry={"maxAttempts": 2, "initialDelay": 0.5})))
    told.answers = [BUSY, BUSY]
    execution = await first.start()
    await first.until_journaled(execution, ("a", "", "retrying"))
    told_then = Told(answers=[BUSY, BUSY])
    second = await next_owner(first, told_then)
    await second.instance.ended(execution)
    assert len(told_then.did) == 1, "it had two, and one of them was before"
    row = await second.row(execution)
    assert (row["status"], row["error_type"]) == ("FAILED", "Busy")


async def test_what_reached_an_execution_too_late_is_gone_with_its_end(first: House, told: Told) -> None:
    await first.define(chain(node("a")))
    told.pauses_at = "a"
    execution = await first.start()
    await told.hanging.wait()
    await first.signal(execution, SignalKind.CANCEL, {})
    told.go_on.set()
    await first.instance.ended(execution)
    assert (await first.row(execution))["status"] == "COMPLETED"
    assert await signals_kept(first) == 0
