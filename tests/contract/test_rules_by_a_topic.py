"""The rules alone, told of events by a topic: what comes again after a crash has been, whatever it did."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest

from clocks import FakeClock
from muster.definitions.limits import Limits
from muster.engine.bus import AlreadyHandled, Batch, Message, Outgoing, Place, Position, Refused
from muster.engine.consuming import Consumer
from muster.engine.ports import NotWritten
from muster.model.watching import Event
from muster.store.database import Database
from muster.store.message_letters import RejectedMessages
from muster.store.positions import ConsumerPositions
from muster.store.tables import consumer_position
from muster.watch.envelope import NORMALIZED_FIELDS, Bounds
from muster.watch.intake import TopicIntake
from muster.watch.messages import normalized
from muster.watch.stages import Stage
from watch_house import NOON, WatchHouse, event

PLACE = Place("events.normalized", 0)
ORDERS: dict[str, Any] = {
    "name": "Orders",
    "key": "orders",
    "graph": {
        "nodes": [
            {"key": "a", "eventType": "A", "start": True},
            {"key": "b", "eventType": "B", "terminal": True},
        ],
        "edges": [{"from": "a", "to": "b", "maxLatencySec": 60}],
    },
}


class Forgetful:
    """A bus and its only member. It forgets how far it was, as after a crash before that was recorded."""

    group = "g"

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self.published: list[Outgoing] = []

    def member(self, group: str) -> "Forgetful":
        return self

    async def subscribe(self, topics: Collection[str]) -> None:
        return

    async def fetch(self, most: int, patience: float) -> Sequence[Message]:
        return self._messages

    async def hold(self) -> None:
        return

    def owns(self, place: Place) -> bool:
        return True

    async def record(self, ends: Mapping[Place, int]) -> None:
        return

    async def lag(self) -> Mapping[Place, int]:
        return {}

    async def leave(self) -> None:
        return

    async def publish(self, messages: Sequence[Outgoing]) -> Sequence[tuple[Place, int]]:
        self.published += messages
        return [(PLACE, 0) for _ in messages]

    async def make(self, topics: Collection[str]) -> None:
        return

    async def check(self) -> None:
        return


class Unheard:
    def took(self, events: int, duplicates: int, unmatched: int, how: str) -> None:
        return

    def refused(self, events: int, how: str) -> None:
        return

    def handled(self, messages: Sequence[Message]) -> None:
        return

    def rejected(self, rejected: Sequence[object]) -> None:
        return

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        return


async def topics() -> Collection[str]:
    return [PLACE.topic]


def messages(*values: Event | bytes) -> list[Message]:
    return [
        Message(*PLACE, place, None, each if isinstance(each, bytes) else _value(each), (), NOON)
        for place, each in enumerate(values)
    ]


def _value(told: Event) -> bytes:
    return orjson.dumps(normalized(told))


def twice_over() -> list[Event]:
    """A key that comes to its end, and begins once more."""
    return [event(type_, "K", NOON + timedelta(seconds=n)) for n, type_ in enumerate("ABA")]


def intake(house: WatchHouse) -> TopicIntake:
    clock = FakeClock(NOON)
    return TopicIntake(house.feed, Bounds(), clock, Limits(), Unheard(), NORMALIZED_FIELDS)


async def read(house: WatchHouse, bus: Forgetful) -> None:
    """As a process does that has just come up."""
    letters, known = RejectedMessages(house.database), ConsumerPositions(house.database)
    handler, heard = intake(house), Unheard()
    await Consumer(bus, "g", topics, handler, letters, FakeClock(), heard, (NotWritten,), known).work()


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database, stages=(Stage.RULE, Stage.AGGREGATE, Stage.ALERT))
    await made.watch(ORDERS)
    yield made
    await made.close()


async def standing(house: WatchHouse) -> tuple[object, ...]:
    return await house.totals(), len(await house.runs()), len(await house.occurrences()), await house.alerts()


async def test_a_batch_that_comes_again_changes_nothing(house: WatchHouse) -> None:
    bus = Forgetful(messages(*twice_over()))
    await read(house, bus)
    assert (await house.totals(), len(await house.runs())) == ({"a": (0, 2, 0, 0), "b": (1, 1, 0, 0)}, 2)
    before = await standing(house)
    await read(house, bus)
    assert await standing(house) == before
    assert [row["position"] for row in await house.rows(consumer_position)] == [3]


async def test_what_cannot_be_read_is_a_dead_letter_once_and_the_rest_comes_once(house: WatchHouse) -> None:
    a, b, again = twice_over()
    bus = Forgetful(messages(a, b"{", b, again))
    await read(house, bus)
    assert len(await house.runs()) == 2
    before = await standing(house)
    await read(house, bus)
    assert await standing(house) == before
    assert [each.value for each in bus.published] == [b"{"]


async def test_who_was_slower_writes_nothing(house: WatchHouse) -> None:
    batch = Batch(messages(*twice_over()), [Position("g", PLACE, None, 3)])
    await intake(house)(batch)
    before = await standing(house)
    with pytest.raises(AlreadyHandled):
        await intake(house)(batch)
    assert await standing(house) == before


async def test_nothing_is_written_with_what_cannot_be_read(house: WatchHouse) -> None:
    batch = Batch(messages(*twice_over(), b"{"), [Position("g", PLACE, None, 4)])
    with pytest.raises(Refused):
        await intake(house)(batch)
    assert not await house.runs()
    assert not await house.rows(consumer_position)
