"""What nothing but computing is left of ends in the very transaction that stores its last event. (On SQLite
transactions run in a thread of their own: there it is claimed, and driven to the same end.)"""

import asyncio

import pytest

from event_house import DONE, END, KAFKA_EVENT, TOPIC, Awaiting
from muster.engine.event_waits import Accepted, Arrived, Source
from muster.engine.finishing import Finished, Finishing
from muster.engine.journal import SignalKind
from muster.model.json import JsonObject
from muster.store.database import Database
from polling import until

WAIT: JsonObject = {"id": "wait", "type": "wait_events", "config": {"kafkaEvent": KAFKA_EVENT}}
NOTE: JsonObject = {"id": "note", "type": "SET", "config": {"seen": "#{kafka_event.event_type}"}}


@pytest.fixture
async def house(database: Database) -> Awaiting:
    """Nobody looks here for what is due."""
    house = Awaiting(database)
    await house.instance.take_back()
    house.receptions.hand_to(house.instance)
    return house


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those that ended with their events."""
    found: list[str] = []
    tell = Finishing.has_finished

    def has_finished(self: Finishing, finished: Finished) -> None:
        found.append(finished.id)
        tell(self, finished)

    monkeypatch.setattr(Finishing, "has_finished", has_finished)
    return found


async def waiting(house: Awaiting, *after: JsonObject, key: str = "w") -> str:
    await house.save(key, WAIT, *after)
    return await house.begin_waiting(key)


async def waiting_twice(house: Awaiting) -> tuple[str, list[Arrived]]:
    """On two paths, and the event of each."""
    other: JsonObject = {**WAIT, "id": "other"}
    ways = [{"type": "goto", "targetNodeId": each} for each in ("wait", "other")]
    start: JsonObject = {"id": "start", "type": "SET", "config": {"a": 1}, "routing": ways}
    await house.save_document("w", {"key": "w", "name": "w", "nodes": [start, WAIT, other]})
    execution = await house.begin_waiting()
    waits = await house.wait_rows(execution)
    return execution, [Arrived(Source.KAFKA, execution, each.correlation_id, DONE, TOPIC) for each in waits]


async def event_for(house: Awaiting, execution: str) -> Arrived:
    correlation = (await house.wait_row(execution)).correlation_id
    return Arrived(Source.KAFKA, execution, correlation, DONE, TOPIC)


async def completed(house: Awaiting, execution: str) -> bool:
    return await house.status(execution) == "COMPLETED"


def runs_in_a_thread(house: Awaiting) -> bool:
    return house.database.dialect_name == "sqlite"


async def test_it_has_ended_when_its_event_is_acknowledged(house: Awaiting, ended: list[str]) -> None:
    execution = await waiting(house, NOTE)
    before = await house.row(execution)
    [verdict] = await house.waits.receive([await event_for(house, execution)])
    assert isinstance(verdict, Accepted)
    assert verdict.is_taken_up
    if runs_in_a_thread(house):
        await until(lambda: completed(house, execution))
    row, wait = await house.row(execution), await house.wait_row(execution)
    assert (row["status"], row["owner"], row["resume_at"]) == ("COMPLETED", None, None)
    assert row["fence"] == before["fence"] + 1  # type: ignore[operator]
    assert (row["resumed_by"], row["context"]["seen"]) == (house.instance.name.owner, "done")  # type: ignore[index]
    assert row["completed_at"] is not None
    assert (wait.status, wait.received_events, wait.resumed_by) == ("completed", ["kafka_event"], "here")
    assert await house.journal(execution) == [("wait", "", "completed"), ("note", "", "completed")]
    assert await house.signals_left(execution) == 0
    assert ended == ([] if runs_in_a_thread(house) else [execution])


async def test_both_ways_come_to_the_same(house: Awaiting, monkeypatch: pytest.MonkeyPatch) -> None:
    executions = [await waiting(house, NOTE), await house.begin_waiting()]
    await house.waits.receive([await event_for(house, executions[0])])
    monkeypatch.setattr(Finishing, "finish", lambda self, owned: None)
    await house.waits.receive([await event_for(house, executions[1])])
    for execution in executions:
        await until(lambda execution=execution: completed(house, execution))  # type: ignore[misc]
    at_once, driven = [await alike(house, each) for each in executions]
    assert at_once == driven


async def alike(house: Awaiting, execution: str) -> object:
    """What is kept of it, but for its own ids and times."""
    row = await house.row(execution)
    wait = await house.wait_row(execution)
    own = {execution: "it", wait.id: "its wait", wait.correlation_id: "its correlation"}
    names = (
        "status",
        "context",
        "output",
        "state",
        "fence",
        "owner",
        "resume_at",
        "checkpoint_seq",
        "error_type",
    )
    told = repr({name: row[name] for name in names})
    for value, name in own.items():
        told = told.replace(value, name)
    return told, await house.journal(execution), wait.status, wait.needed_events, wait.received_events


async def test_a_repeat_is_one_in_the_same_batch_and_later(house: Awaiting) -> None:
    execution = await waiting(house, NOTE)
    event = await event_for(house, execution)
    verdicts = [*await house.waits.receive([event, event]), *await house.waits.receive([event])]
    assert [isinstance(verdict, Accepted) for verdict in verdicts] == [True, False, False]
    await until(lambda: completed(house, execution))
    assert await house.misses() == ["DUPLICATE", "DUPLICATE"]


async def test_what_an_effect_follows_is_driven(house: Awaiting, ended: list[str]) -> None:
    execution = await waiting(house, NOTE, END)
    await house.waits.receive([await event_for(house, execution)])
    await until(lambda: completed(house, execution))
    assert house.told.said == ["end"]
    assert ended == []


async def test_what_fails_by_computing_fails_as_it_always_does(house: Awaiting, ended: list[str]) -> None:
    wrong = {"id": "note", "type": "SET", "config": {"seen": "#{kafka_event.event_type / 2}"}}
    execution = await waiting(house, wrong)
    await house.waits.receive([await event_for(house, execution)])

    async def failed() -> bool:
        return await house.status(execution) == "FAILED"

    await until(failed)
    assert (await house.wait_row(execution)).status == "completed"
    assert ended == []


async def test_what_was_cancelled_before_its_event_does_not_complete(
    house: Awaiting, ended: list[str]
) -> None:
    execution = await waiting(house, NOTE)
    await house.signal(execution, SignalKind.CANCEL, {})
    await house.waits.receive([await event_for(house, execution)])
    await house.settle()
    assert await house.status(execution) == "CANCELLED"
    assert ended == []


async def test_what_a_hand_holds_does_not_go_on(house: Awaiting) -> None:
    execution = await waiting(house, NOTE)
    await house.signal(execution, SignalKind.HOLD, {})
    await house.settle()
    await house.waits.receive([await event_for(house, execution)])
    await house.settle()
    assert await house.status(execution) != "COMPLETED"
    await house.signal(execution, SignalKind.RELEASE, {})
    await house.settle()
    assert await house.status(execution) == "COMPLETED"


async def test_another_path_that_still_waits_is_waited_for(house: Awaiting) -> None:
    execution, events = await waiting_twice(house)
    await house.waits.receive(events[:1])
    await house.settle()
    assert await house.status(execution) == "WAITING"
    await house.waits.receive(events[1:])
    await until(lambda: completed(house, execution))


async def test_two_that_complete_in_one_batch_are_both_heard(house: Awaiting) -> None:
    execution, events = await waiting_twice(house)
    await house.waits.receive(events)
    await until(lambda: completed(house, execution))
    assert [each.status for each in await house.wait_rows(execution)] == ["completed", "completed"]


async def test_a_large_event_is_kept_whole(house: Awaiting) -> None:
    execution = await waiting(house, NOTE)
    data: JsonObject = {**DONE, "text": "x" * 1_000_000}
    event = await event_for(house, execution)
    await house.waits.receive([Arrived(Source.KAFKA, execution, event.correlation_id, data, TOPIC)])
    await until(lambda: completed(house, execution))
    assert (await house.wait_row(execution)).kafka_event_data == data


async def test_what_takes_many_steps_is_driven(house: Awaiting, ended: list[str]) -> None:
    steps: list[JsonObject] = [{**NOTE, "id": f"note-{number}"} for number in range(120)]
    execution = await waiting(house, *steps)
    await house.waits.receive([await event_for(house, execution)])
    await until(lambda: completed(house, execution))
    assert ended == []


async def test_two_who_receive_the_same_events_at_once_end_each_execution_once(
    house: Awaiting, database: Database, ended: list[str]
) -> None:
    there = Awaiting(database, name="there")
    await there.instance.take_back()
    there.receptions.hand_to(there.instance)
    executions = [await waiting(house, NOTE), *[await house.begin_waiting() for _ in range(39)]]
    events = [await event_for(house, each) for each in executions]
    # In another order, and in several batches: they meet in the middle.
    batches = [house.waits.receive(events[first : first + 8]) for first in range(0, 40, 8)]
    batches += [there.waits.receive(events[first : first + 5][::-1]) for first in range(35, -1, -5)]
    verdicts = [verdict for batch in await asyncio.gather(*batches) for verdict in batch]
    assert sum(isinstance(verdict, Accepted) for verdict in verdicts) == 40
    for execution in executions:
        await until(lambda execution=execution: completed(house, execution))  # type: ignore[misc]
        assert await house.journal(execution) == [("wait", "", "completed"), ("note", "", "completed")]
    assert len(set(ended)) == len(ended)
