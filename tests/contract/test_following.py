"""Following an execution that another drives: from the database alone, on every database."""

import pytest

from engine_house import House, Told, chain, node
from muster.definitions.library import NotFound
from muster.engine.following import (
    BadPlace,
    Change,
    ExecutionChanged,
    ExecutionEnded,
    Following,
    NodeChanged,
    Place,
)
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.model.access import Caller, Role
from muster.model.workflow import Definition, Edge
from muster.store.database import Database
from muster.store.sightings import ExecutionSightings

ANYONE = Caller("test", frozenset({Role.VIEWER}), None, "test")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


@pytest.fixture
def following(house: House) -> Following:
    return Following(ExecutionSightings(house.database), house.program)


def said(change: Change) -> tuple[str, ...]:
    match change:
        case NodeChanged(row):
            return (row.node_id, row.status)
        case ExecutionChanged(row):
            return ("execution", row.status)
        case ExecutionEnded(row):
            return ("end", row.status)


async def look(following: Following, execution: str, place: Place) -> tuple[list[tuple[str, ...]], Place]:
    news = await following.look(execution, ANYONE, place)
    assert all(Place.read(str(reached)) == reached for _, reached in news.changes)
    return [said(change) for change, _ in news.changes], news.place


async def test_a_follower_hears_how_it_stands_then_each_change_then_the_end(
    house: House, told: Told, following: Following
) -> None:
    told.pauses_at = "b"
    await house.define(chain(node("a"), node("b"), node("c", "SLEEP", config={"seconds": 3600})))
    execution = await house.start()
    await told.hanging.wait()
    heard, place = await look(following, execution, Place())
    assert heard == [("execution", "RUNNING"), ("a", "completed"), ("b", "running")]
    assert await look(following, execution, place) == ([], place)

    told.go_on.set()
    await house.instance.ended(execution)
    heard, place = await look(following, execution, place)
    assert heard == [("b", "completed"), ("c", "paused"), ("execution", "PAUSED")]

    await house.signal(execution, SignalKind.CANCEL, {"reason": "enough"})
    await house.instance.take_due()
    await house.instance.ended(execution)
    heard, place = await look(following, execution, place)
    assert heard == [("execution", "CANCELLED"), ("end", "CANCELLED")]
    assert place.ended
    assert await look(following, execution, place) == ([], place)


async def test_whoever_comes_back_at_any_place_misses_nothing_and_hears_nothing_twice(
    house: House, told: Told, following: Following
) -> None:
    """Two branches, one of them still running while the other goes on."""
    told.pauses_at = "slow"
    nodes = (node("a"), node("slow"), node("b"), node("c"))
    edges = tuple(Edge(*pair) for pair in (("a", "slow"), ("a", "b"), ("b", "c")))
    await house.define(Definition("branches", nodes, edges))
    execution = await house.start()
    await told.hanging.wait()
    await house.until_journaled(execution, ("c", "", "completed"))
    first = await following.look(execution, ANYONE, Place())
    whole = [said(change) for change, _ in first.changes]
    assert whole[:2] == [("execution", "RUNNING"), ("a", "completed")]
    assert whole[-1] == ("slow", "running")
    for number, (_, place) in enumerate(first.changes, start=1):
        rest, _ = await look(following, execution, Place.read(str(place)))
        assert rest == whole[number:]

    told.go_on.set()
    await house.instance.ended(execution)
    for number, (_, place) in enumerate(first.changes, start=1):
        rest, _ = await look(following, execution, Place.read(str(place)))
        expected = [one for one in whole[number:] if one != ("slow", "running")]
        assert rest == [*expected, ("slow", "completed"), ("execution", "COMPLETED"), ("end", "COMPLETED")]


async def test_an_attempt_that_is_to_be_repeated_is_told(
    house: House, told: Told, following: Following
) -> None:
    told.answers = [Failure("Busy", "later", retryable=True, retry_after=3600)]
    await house.define(chain(node("a")))
    execution = await house.run()
    heard, _ = await look(following, execution, Place())
    assert heard == [("execution", "PAUSED"), ("a", "retrying")]


async def test_more_visits_than_fit_into_one_look_come_in_the_next(
    house: House, following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.engine.following.MOST_VISITS", 2)
    await house.define(chain(node("a"), node("b"), node("c")))
    execution = await house.run()
    first = await following.look(execution, ANYONE, Place())
    assert ([said(change) for change, _ in first.changes], first.more) == (
        [("execution", "COMPLETED"), ("a", "completed"), ("b", "completed")],
        True,
    )
    second = await following.look(execution, ANYONE, first.place)
    assert [said(change) for change, _ in second.changes] == [("c", "completed"), ("end", "COMPLETED")]


async def test_another_tenants_execution_is_not_there(house: House, following: Following) -> None:
    await house.define(chain(node("a")))
    execution = await house.run()
    stranger = Caller("test", frozenset({Role.VIEWER}), "other", "test")
    with pytest.raises(NotFound):
        await following.look(execution, stranger, Place())


@pytest.mark.parametrize("text", ["", "x", "1", "1..", "1.....", "-1...", "1.g..", "1...abc"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(BadPlace):
        Place.read(text)
