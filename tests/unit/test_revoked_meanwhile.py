"""Partitions that go to another member while the client is being asked for messages."""

from collections.abc import Callable
from typing import ClassVar

import pytest
from confluent_kafka import TopicPartition

from muster.bus.kafka_member import KafkaMember
from muster.engine.bus import Place

HERE, THERE = Place("orders", 0), Place("orders", 1)


class Record:
    def __init__(self, place: Place, offset: int) -> None:
        self._place, self._offset = place, offset

    def topic(self) -> str:
        return self._place.topic

    def partition(self) -> int:
        return self._place.partition

    def offset(self) -> int:
        return self._offset

    def error(self) -> None:
        return None

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"{}"

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000


Told = Callable[[object, list[TopicPartition]], None]


class Client:
    """Stands in for Kafka's, which cannot be made to rebalance at one given moment."""

    closed: ClassVar[list["Client"]] = []
    comes_back = False

    def __init__(self, config: object, logger: object) -> None:
        self._revoke: Told | None = None
        self._assign: Told | None = None

    def subscribe(self, topics: object, on_assign: Told, on_revoke: Told, on_lost: Told) -> None:
        self._assign, self._revoke = on_assign, on_revoke

    def poll(self, seconds: float) -> Record:
        return Record(THERE, 1)

    def consume(self, most: int, seconds: float) -> list[Record]:
        self.give_back()
        return [Record(HERE, 5)]

    def give_back(self) -> None:
        assert self._revoke is not None
        assert self._assign is not None
        self._revoke(self, [TopicPartition(*THERE)])
        if self.comes_back:
            self._assign(self, [TopicPartition(*THERE)])

    def assignment(self) -> list[TopicPartition]:
        return []

    def unsubscribe(self) -> None:
        return

    def close(self) -> None:
        self.closed.append(self)

    def pause(self, partitions: object) -> None:
        return

    def resume(self, partitions: object) -> None:
        return


class BackAtOnce(Client):
    """Loses it and has it again before the first message comes, which is from there."""

    comes_back = True

    def poll(self, seconds: float) -> Record:
        self.give_back()
        return Record(THERE, 1)

    def consume(self, most: int, seconds: float) -> list[Record]:
        return [Record(THERE, 2)]


class BackAmongThem(Client):
    """Loses it and has it again while messages are gathered. The next client is let be."""

    comes_back = True

    def consume(self, most: int, seconds: float) -> list[Record]:
        if self.closed:
            return [Record(THERE, 2)]
        return super().consume(most, seconds)


@pytest.fixture
async def member(monkeypatch: pytest.MonkeyPatch) -> KafkaMember:
    return await with_client(monkeypatch, Client)


async def with_client(monkeypatch: pytest.MonkeyPatch, client: type[Client]) -> KafkaMember:
    monkeypatch.setattr("muster.bus.kafka_member.Consumer", client)
    monkeypatch.setattr(Client, "closed", [])
    made = KafkaMember({}, "g")
    await made.subscribe(["orders"])
    return made


async def test_what_is_fetched_is_without_theirs(member: KafkaMember) -> None:
    assert [message.place for message in await member.fetch(10, 1)] == [HERE]
    assert not member.owns(THERE)


async def test_what_comes_while_it_holds_is_without_theirs(member: KafkaMember) -> None:
    await member.hold()
    assert [message.place for message in await member.fetch(10, 1)] == [HERE]
    assert not member.owns(THERE)


@pytest.mark.parametrize("holds", [False, True])
async def test_what_comes_from_one_that_is_back_is_fetched(
    monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    member = await with_client(monkeypatch, BackAtOnce)
    if holds:
        await member.hold()
    assert [message.offset for message in await member.fetch(10, 1)] == [1, 2]
    assert member.owns(THERE)


async def test_where_nobody_can_tell_what_is_from_before_all_of_it_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    member = await with_client(monkeypatch, BackAmongThem)
    assert [message.offset for message in await member.fetch(10, 1)] == [1, 2]
    assert len(Client.closed) == 1, "by a new client"
