"""Partitions that go to another member while the client is being asked for messages."""

from collections.abc import Callable

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


class Client:
    """Stands in for Kafka's, which cannot be made to rebalance at one given moment."""

    def __init__(self, config: object, logger: object) -> None:
        self._revoke: Callable[[object, list[TopicPartition]], None] | None = None

    def subscribe(self, topics: object, on_revoke: Callable[..., None], on_lost: object) -> None:
        self._revoke = on_revoke

    def poll(self, seconds: float) -> Record:
        return Record(THERE, 1)

    def consume(self, most: int, seconds: float) -> list[Record]:
        assert self._revoke is not None
        self._revoke(self, [TopicPartition(*THERE)])
        return [Record(HERE, 5)]

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(*HERE)]

    def pause(self, partitions: object) -> None:
        return

    def resume(self, partitions: object) -> None:
        return


@pytest.fixture
async def member(monkeypatch: pytest.MonkeyPatch) -> KafkaMember:
    monkeypatch.setattr("muster.bus.kafka_member.Consumer", Client)
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
