"""Dead letters on every database: written with the end they tell of, dealt with once."""

import asyncio

import pytest
from sqlalchemy import select

from engine_house import House, Told, chain, node
from muster.engine.actions import Note, Reopened
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.letters import DeadLetter, LetterStatus, WantedLetters
from muster.engine.state import Failure
from muster.model.execution import ExecutionDetail
from muster.model.stored import AuditEntry, Page
from muster.store.acts import ExecutionActs
from muster.store.database import Database
from muster.store.dead_letters import DeadLetterRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.tables import audit_log, execution_takeover

NOT_TODAY = Failure("Refused", "not today")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


async def letters_of(house: House, **wanted: object) -> list[DeadLetter]:
    repository = DeadLetterRepository(house.database, house.committer)
    found, _ = await repository.list(None, WantedLetters(**wanted), Page())
    return list(found)


def note(action: str, entity: str = "x") -> Note:
    return Note(AuditEntry("execution", entity, action, "ada", "", {"reason": "why"}))


async def reopened(house: House, execution: str, letter: int | None = None) -> bool:
    return await reopened_as(house, await read(house, execution), letter)


async def read(house: House, execution: str) -> ExecutionDetail:
    found = await ExecutionRecords(house.database).get(None, execution)
    assert found is not None
    return found


async def reopened_as(house: House, found: ExecutionDetail, letter: int | None = None) -> bool:
    state = {**found.state, "tokens": [{"node": "a", "visit": 1, "phase": "running", "attempt": 1}]}
    del state["ending"], state["finished"]
    again = Reopened(found, 1, found.context, state, letter)
    return await ExecutionActs(house.committer).reopen(again, note("retry", found.row.id))


async def audited(house: House) -> list[tuple[str, str]]:
    chosen = select(audit_log.c.entity_type, audit_log.c.action).order_by(audit_log.c.id)
    rows = await house.database.read(lambda connection: connection.execute(chosen).all())
    return [(row.entity_type, row.action) for row in rows]


async def test_a_failed_execution_leaves_a_letter_with_every_attempt(house: House, told: Told) -> None:
    busy = Failure("Busy", "later", retryable=True)
    told.answers = [Done(), busy, busy, NOT_TODAY]
    await house.define(chain(node("a"), node("b", retry={"maxAttempts": 5, "initialDelay": 0.01})))
    execution = await house.run()
    [letter] = await letters_of(house)
    assert (letter.kind, letter.source, letter.key) == ("execution", "w1", execution)
    assert (letter.error_type, letter.error_message) == ("Refused", "not today")
    assert letter.status is LetterStatus.OPEN
    assert letter.value == {"nodeId": "b", "takeovers": []}
    assert isinstance(letter.attempts, list)
    told_of = [(a["nodeId"], a["attempt"], a["type"]) for a in letter.attempts if isinstance(a, dict)]
    assert told_of == [("b", 1, "Busy"), ("b", 2, "Busy"), ("b", 3, "Refused")]


async def test_attempts_are_remembered_over_a_durable_delay(house: House, told: Told) -> None:
    told.answers = [Failure("Busy", "later", retryable=True, retry_after=3600), NOT_TODAY]
    await house.define(chain(node("a")))
    execution = await house.run()
    assert (await house.row(execution))["status"] == "PAUSED"
    await house.pass_time(hours=1)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    [letter] = await letters_of(house)
    assert [a["type"] for a in letter.attempts] == ["Busy", "Refused"]


async def test_what_completes_or_is_cancelled_leaves_none(house: House) -> None:
    await house.define(chain(node("a"), node("b", "SLEEP", config={"seconds": 3600})))
    execution = await house.run()
    await house.signal(execution, SignalKind.CANCEL, {})
    await house.instance.take_due()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "CANCELLED"
    assert await letters_of(house) == []


async def test_a_poisoned_execution_leaves_a_letter_with_all_who_took_it_over(
    database: Database, told: Told
) -> None:
    first = House(database, told)
    await first.define(chain(node("a"), node("b")))
    told.hangs_at = "b"
    execution = await first.start()
    await told.hanging.wait()
    owners = []
    for _ in range(6):
        house = House(database, told)
        house.programs = first.programs
        assert await house.instance.take_back() == 1
        owners.append(house.instance.name.owner)
    await house.instance.ended(execution)
    [letter] = await letters_of(house)
    assert letter.error_type == "Poisoned"
    assert isinstance(letter.value, dict)
    assert [taken["owner"] for taken in letter.value["takeovers"]] == owners


async def test_takeovers_are_forgotten_with_progress(database: Database, told: Told) -> None:
    before = House(database, told)
    await before.define(chain(node("a"), node("b")))
    told.hangs_at = "a"
    execution = await before.start()
    await told.hanging.wait()
    told.hangs_at = None
    told.answers = [Done(), NOT_TODAY]
    after = House(database, told)
    after.programs = before.programs
    assert await after.instance.take_back() == 1
    await after.instance.ended(execution)
    [letter] = await letters_of(after)
    assert letter.value == {"nodeId": "b", "takeovers": []}
    left = await database.read(lambda connection: connection.execute(select(execution_takeover)).all())
    assert left == []


async def test_of_several_who_deal_with_a_letter_one_wins(house: House, told: Told) -> None:
    told.answers = [NOT_TODAY]
    await house.define(chain(node("a")))
    execution = await house.run()
    [letter] = await letters_of(house)
    repository = DeadLetterRepository(house.database, house.committer)
    other = House(house.database, told, "there")
    elsewhere = DeadLetterRepository(house.database, other.committer)
    results = await asyncio.gather(
        repository.dismiss(letter.id, note("dismiss")),
        elsewhere.dismiss(letter.id, note("dismiss")),
        reopened(house, execution, letter.id),
        reopened(other, execution, letter.id),
        repository.dismiss(letter.id, note("dismiss")),
    )
    assert sorted(results) == [False, False, False, False, True]
    [after] = await letters_of(house)
    assert after.status is not LetterStatus.OPEN
    assert after.resolved_at is not None
    redriven = after.status is LetterStatus.REDRIVEN
    assert (await house.row(execution))["status"] == ("PAUSED" if redriven else "FAILED")
    expected = (
        [("dead_letter", "redrive"), ("execution", "retry")] if redriven else [("execution", "dismiss")]
    )
    assert await audited(house) == expected


async def test_an_execution_that_is_retried_takes_its_open_letter_with_it(house: House, told: Told) -> None:
    told.answers = [NOT_TODAY, NOT_TODAY]
    await house.define(chain(node("a")))
    execution = await house.run()
    assert await reopened(house, execution)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    second, first = await letters_of(house)
    assert (first.status, second.status) == (LetterStatus.REDRIVEN, LetterStatus.OPEN)
    assert second.key == first.key == execution
    assert await letters_of(house, status=LetterStatus.OPEN) == [second]


async def test_who_has_seen_an_earlier_failure_does_not_try_a_later_one_again(
    house: House, told: Told
) -> None:
    told.answers = [NOT_TODAY, NOT_TODAY]
    await house.define(chain(node("a")))
    execution = await house.run()
    seen = await read(house, execution)
    assert await reopened(house, execution)
    await house.instance.take_due()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "FAILED"
    assert not await reopened_as(house, seen)


async def test_a_letter_that_was_let_be_is_no_way_to_try_again(house: House, told: Told) -> None:
    told.answers = [NOT_TODAY]
    await house.define(chain(node("a")))
    execution = await house.run()
    [letter] = await letters_of(house)
    assert await DeadLetterRepository(house.database, house.committer).dismiss(letter.id, note("dismiss"))
    assert not await reopened(house, execution, letter.id)
    assert (await house.row(execution))["status"] == "FAILED"
    assert await reopened(house, execution), "by itself it may still be retried"


async def test_a_signal_and_its_note_are_there_together_or_not_at_all(house: House) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    execution = await house.run()
    acts = ExecutionActs(house.committer)
    unwritable = Note(AuditEntry("execution", execution, "x" * 65, "ada"))
    with pytest.raises(Exception, match="too long"):
        await acts.signal(execution, SignalKind.CANCEL, {}, unwritable)
    assert await house.instance.take_due() == 0, "no signal without its note"
    assert await acts.signal(execution, SignalKind.CANCEL, {}, note("cancel", execution))
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    assert not await acts.signal(execution, SignalKind.HOLD, {}, note("pause", execution)), "it has ended"
    assert await audited(house) == [("execution", "cancel")], "and no note without its signal"
