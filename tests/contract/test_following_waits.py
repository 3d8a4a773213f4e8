"""Whoever follows an execution is told what it waits for: what it needs, what came, until when."""

import pytest

from event_house import Awaiting
from muster.engine.following import Following, NodeChanged, Place, WaitChanged
from muster.model.access import Caller, How, Role
from muster.model.event_wait import WaitRecord
from muster.store.database import Database
from muster.store.sightings import ExecutionSightings

ANYONE = Caller("ada", frozenset({Role.VIEWER}), None, How.TOKEN)


@pytest.fixture
def house(database: Database) -> Awaiting:
    return Awaiting(database)


async def told(house: Awaiting, execution: str, place: Place) -> tuple[list[WaitRecord], Place]:
    """What is new of waits, and where the follower is then: they come back with the place as a text."""
    following = Following(ExecutionSightings(house.database), house.program)
    news = await following.look(execution, ANYONE, Place.read(str(place)))
    return [change.row for change, _ in news.changes if isinstance(change, WaitChanged)], news.place


async def test_each_event_that_comes_is_told_once(house: Awaiting) -> None:
    execution = await house.wait_for()
    [opened], place = await told(house, execution, Place())
    assert opened.needed_events == ("api_response", "kafka_event")
    assert (opened.received_events, opened.status) == ((), "waiting")
    assert opened.expires_at > opened.created_at
    assert await told(house, execution, place) == ([], place)
    await house.callback(execution)
    [first], place = await told(house, execution, place)
    assert (first.needed_events, first.received_events) == (("kafka_event",), ("api_response",))
    assert await told(house, execution, place) == ([], place)
    await house.message(execution)
    [complete], place = await told(house, execution, place)
    assert (complete.needed_events, complete.status) == ((), "resuming")
    await house.settle()
    assert (await told(house, execution, place))[0] == []


async def test_a_follower_who_comes_late_is_told_how_it_stands(house: Awaiting) -> None:
    execution = await house.wait_for()
    await house.callback(execution)
    following = Following(ExecutionSightings(house.database), house.program)
    news = await following.look(execution, ANYONE, Place())
    kinds = [type(change) for change, _ in news.changes]
    assert kinds.index(NodeChanged) < kinds.index(WaitChanged), "that it waits comes before what for"
