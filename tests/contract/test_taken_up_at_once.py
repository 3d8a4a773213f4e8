"""Who receives the last event of a wait goes on with its execution: claimed in the same transaction."""

import asyncio
import contextlib

import pytest

from event_house import DONE, TOPIC, Awaiting
from muster.engine.event_waits import Accepted, Arrived, Source
from muster.engine.journal import SignalKind
from muster.store.database import Database
from polling import until


@pytest.fixture
async def house(database: Database) -> Awaiting:
    """Nobody looks here for what is due."""
    return await ready(Awaiting(database))


async def ready(house: Awaiting) -> Awaiting:
    await house.instance.take_back()
    house.receptions.hand_to(house.instance)
    return house


async def completed(house: Awaiting, execution: str) -> bool:
    return await house.status(execution) == "COMPLETED"


async def test_what_is_complete_goes_on_without_being_looked_for(house: Awaiting) -> None:
    execution = await house.wait_for(apiCall=None)
    assert await house.message(execution) == "accepted"
    await until(lambda: completed(house, execution))
    row = await house.row(execution)
    assert (row["resumed_by"], row["owner"]) == (house.instance.name.owner, None)
    assert (await house.wait_row(execution)).status == "completed"
    assert await house.signals_left(execution) == 0
    assert house.told.said == ["end"]


async def test_many_go_on_together_each_once(house: Awaiting) -> None:
    executions = [await house.wait_for(apiCall=None)]
    executions += [await house.begin_waiting() for _ in range(9)]
    events = [await event_for(house, each) for each in executions]
    verdicts = await house.waits.receive([*events, *events])
    assert [isinstance(verdict, Accepted) for verdict in verdicts] == [True] * 10 + [False] * 10
    assert all(isinstance(verdict, Accepted) and verdict.is_taken_up for verdict in verdicts[:10])
    for execution in executions:
        await until(lambda execution=execution: completed(house, execution))  # type: ignore[misc]
    assert house.told.said == ["end"] * 10


async def test_an_instance_that_leaves_takes_nothing_up(house: Awaiting, database: Database) -> None:
    execution = await house.wait_for(apiCall=None)
    house.instance.retire()
    [verdict] = await house.waits.receive([await event_for(house, execution)])
    assert isinstance(verdict, Accepted)
    assert verdict[:3] == Accepted("kafka_event", completes=True, is_taken_up=False)[:3]
    row = await house.row(execution)
    assert (row["owner"], row["status"]) == (None, "WAITING")
    assert row["resume_at"] is not None
    other = Awaiting(database, name="there")
    await other.settle()
    assert await house.status(execution) == "COMPLETED"


async def test_who_stops_waiting_for_the_answer_leaves_nothing_undone(house: Awaiting) -> None:
    execution = await house.wait_for(apiCall=None)
    receiving = asyncio.create_task(house.waits.receive([await event_for(house, execution)]))
    await asyncio.sleep(0)  # it has handed the event over
    receiving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await receiving
    await until(lambda: completed(house, execution))


async def test_what_a_hand_holds_is_taken_up_and_begins_nothing(house: Awaiting) -> None:
    execution = await house.wait_for(apiCall=None)
    await house.signal(execution, SignalKind.HOLD, {})
    await house.settle()
    assert await house.message(execution) == "accepted"
    await until(lambda: let_go(house, execution))
    assert house.told.said == []
    await house.signal(execution, SignalKind.RELEASE, {})
    await house.settle()
    assert await house.status(execution) == "COMPLETED"


async def let_go(house: Awaiting, execution: str) -> bool:
    return (await house.row(execution))["owner"] is None and not await house.signals_left(execution)


async def event_for(house: Awaiting, execution: str) -> Arrived:
    correlation = (await house.wait_row(execution)).correlation_id
    return Arrived(Source.KAFKA, execution, correlation, DONE, TOPIC)
