"""A consumer whose partitions come and go: what it has not dealt with is never recorded as done."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import pytest

from clocks import FakeClock
from muster.engine import consuming
from muster.engine.bus import Batch, Message, Outgoing, Place, Position, Recording, Rejected
from muster.engine.consuming import Consumer
from muster.engine.ports import NotWritten

HERE, THERE = Place("orders", 0), Place("orders", 1)
AT = datetime(2026, 3, 1, tzinfo=UTC)


class OneMember:
    """A bus and its only member, whose partitions a test takes away and gives back."""

    def __init__(self, *messages: Message) -> None:
        self.group = "g"
        self.owned = {HERE, THERE}
        self.recorded: dict[Place, int] = {}
        self.published: list[Outgoing] = []
        self.holds = 0
        self._messages = list(messages)

    def member(self, group: str) -> "OneMember":
        return self

    async def subscribe(self, topics: Collection[str]) -> None:
        return

    async def fetch(self, most: int, patience: float) -> Sequence[Message]:
        fetched, self._messages = self._messages, []
        return fetched

    async def hold(self) -> None:
        self.holds += 1

    def owns(self, place: Place) -> bool:
        return place in self.owned

    async def record(self, ends: Mapping[Place, int]) -> None:
        self.recorded |= ends

    async def lag(self) -> Mapping[Place, int]:
        return {HERE: 4}

    async def leave(self) -> None:
        return

    async def publish(self, messages: Sequence[Outgoing]) -> Sequence[tuple[Place, int]]:
        self.published += messages
        return [(HERE, 0) for _ in messages]

    async def make(self, topics: Collection[str]) -> None:
        return

    async def check(self) -> None:
        return


class Kept:
    """Keeps the names of dead letters, and hears how much waits."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lags: list[tuple[str, Mapping[Place, int]]] = []

    async def keep(self, rejected: Sequence[Rejected]) -> None:
        self.names += [each.message.name for each in rejected]

    def handled(self, messages: Sequence[Message]) -> None:
        return

    def rejected(self, rejected: Sequence[Rejected]) -> None:
        return

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        self.lags.append((group, lag))


class NoPositions:
    async def known(self, group: str, places: Collection[Place]) -> Mapping[Place, int]:
        return {}

    async def record(self, positions: Sequence[Position]) -> None:
        return


def message(place: Place, offset: int) -> Message:
    return Message(*place, offset, None, b"{}", (), AT)


async def topics() -> Collection[str]:
    return ["orders"]


def consumer(bus: OneMember, handler: object, kept: Kept) -> Consumer:
    return Consumer(bus, "g", topics, handler, kept, FakeClock(), kept, (NotWritten,))  # type: ignore[arg-type]


async def test_a_partition_that_was_lost_meanwhile_is_left_to_who_has_it_now() -> None:
    bus, seen = OneMember(message(HERE, 4), message(THERE, 7)), list[Place]()

    async def handler(batch: Batch) -> Sequence[Rejected]:
        seen.extend(each.place for each in batch.messages)
        bus.owned.add(THERE)  # it has come back: what was left out is still not done
        return []

    bus.owned.discard(THERE)
    await consumer(bus, handler, Kept()).work()
    assert seen == [HERE]
    assert bus.recorded == {HERE: 5}


async def test_what_is_fetched_is_held_on_to_while_the_store_is_away() -> None:
    bus, away = OneMember(message(HERE, 4)), [NotWritten("away"), NotWritten("away")]

    async def handler(batch: Batch) -> Sequence[Rejected]:
        if away:
            raise away.pop()
        return []

    found = consumer(bus, handler, Kept())
    for _ in range(2):
        with pytest.raises(NotWritten):
            await found.work()
        assert bus.recorded == {}
    await found.work()
    assert (bus.recorded, bus.holds) == ({HERE: 5}, 2)


@pytest.mark.parametrize("error", [NotWritten("away"), ValueError("a bug")])
async def test_how_much_waits_is_told_also_where_nothing_is_dealt_with(error: Exception) -> None:
    async def handler(batch: Batch) -> Sequence[Rejected]:
        raise error

    kept = Kept()
    with pytest.raises(type(error)):
        await consumer(OneMember(message(HERE, 4)), handler, kept).work()
    assert kept.lags == [("g", {HERE: 4})]


async def test_how_much_waits_is_told_while_a_handler_takes_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept, told = Kept(), list[int]()
    monkeypatch.setattr(consuming, "HOLD_EVERY", 0.001)

    async def handler(batch: Batch) -> Sequence[Rejected]:
        while not kept.lags:  # noqa: ASYNC110  # nobody else is told of it
            await asyncio.sleep(0)
        told.append(len(kept.lags))
        return []

    await consumer(OneMember(message(HERE, 4)), handler, kept).work()
    assert told == [1]


async def test_a_message_alone_has_three_chances_of_its_own() -> None:
    bus, kept, tries = OneMember(*(message(HERE, offset) for offset in range(8))), Kept(), list[list[int]]()

    async def handler(batch: Batch) -> Sequence[Rejected]:
        offsets = [each.offset for each in batch.messages]
        tries.append(offsets)
        if 5 in offsets:
            raise ValueError("not five")
        return []

    found = consumer(bus, handler, kept)
    while bus.recorded.get(HERE) != 8:
        try:
            await found.work()
        except ValueError:
            continue
    assert kept.names == ["orders/0/5"]
    assert tries.count([5]) == 3
    assert [each.topic for each in bus.published] == ["orders.dlq"]
    handled = [each for offsets in tries if 5 not in offsets for each in offsets]
    assert handled == [0, 1, 2, 3, 4, 6, 7]


async def test_positions_are_for_a_handler_that_says_it_records_them() -> None:
    async def handler(batch: Batch) -> Sequence[Rejected]:
        return []

    kept, known = Kept(), NoPositions()
    with pytest.raises(ValueError, match="records no positions"):
        Consumer(OneMember(), "g", topics, handler, kept, FakeClock(), kept, (NotWritten,), known)
    Consumer(OneMember(), "g", topics, Recording(handler), kept, FakeClock(), kept, (NotWritten,), known)
