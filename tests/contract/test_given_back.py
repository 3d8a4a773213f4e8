"""A partition that goes to another member of the group and comes back, all while one call waits for messages:
after Kafka was away, say, everybody loses theirs and has them again within milliseconds."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from muster.bus.kafka_client import CONSUMER_ALWAYS
from muster.bus.kafka_member import KafkaMember
from muster.conformance.kafka import KafkaBuses
from muster.engine.bus import Place
from polling import until

pytestmark = pytest.mark.kafka


@asynccontextmanager
async def joined(brokers: str) -> AsyncIterator[tuple[KafkaMember, str]]:
    """A member of a group that has all partitions of a topic, and the topic."""
    buses = KafkaBuses({"bootstrap.servers": brokers})
    topic = f"given-back-{id(buses)}"
    await buses.make(topic)
    member = KafkaMember({"bootstrap.servers": brokers}, topic)
    await member.subscribe([topic])

    async def has_all() -> bool:
        await member.fetch(10, 0.5)
        return len(_assigned(member)) > 1

    await until(has_all)
    yield member, topic
    await member.leave()
    await buses.close()


async def test_what_came_meanwhile_is_fetched(kafka_bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # That the end of those is reached which it keeps would end the call in between.
    silent = {**CONSUMER_ALWAYS, "enable.partition.eof": False}
    monkeypatch.setattr("muster.bus.kafka_member.CONSUMER_ALWAYS", silent)
    async with joined(kafka_bootstrap) as (member, topic):
        monkeypatch.setattr("muster.bus.kafka_member.LOOK_SECONDS", 30.0)
        fetching = asyncio.create_task(member.fetch(10, 30.0))
        with borrowing(kafka_bootstrap, topic) as borrow:
            place = await asyncio.to_thread(borrow)
            await asyncio.to_thread(_publish, kafka_bootstrap, place)
        [message] = await fetching
        assert (message.place, message.value) == (place, b"meanwhile")
        assert member.owns(place)


async def test_one_that_went_while_nothing_was_taken_does_not_come_back_paused(kafka_bootstrap: str) -> None:
    async with joined(kafka_bootstrap) as (member, topic):
        with borrowing(kafka_bootstrap, topic) as borrow:
            borrowed = asyncio.create_task(asyncio.to_thread(borrow))
            while not borrowed.done():
                await member.hold()
                await asyncio.sleep(0.05)
            place = await borrowed
            await member.fetch(10, 0.1)  # what it has goes on
        await asyncio.to_thread(_publish, kafka_bootstrap, place)

        async def came() -> bool:
            return place in {message.place for message in await member.fetch(10, 1.0)}

        await until(came)


def _assigned(member: KafkaMember) -> list[TopicPartition]:
    assert member._consumer is not None
    return member._consumer.assignment()


@contextmanager
def borrowing(brokers: str, topic: str) -> Iterator[Callable[[], Place]]:
    """A guest in the group of that name, who asks for a partition and deals with nothing."""
    guest = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": topic,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
        }
    )
    guest.subscribe([topic])

    def borrow() -> Place:
        while not (had := guest.assignment()):
            guest.poll(0.1)
        return Place(topic, had[0].partition)

    try:
        yield borrow
    finally:
        guest.close()


def _publish(brokers: str, place: Place) -> None:
    producer = Producer({"bootstrap.servers": brokers})
    producer.produce(place.topic, b"meanwhile", partition=place.partition)
    assert producer.flush(30) == 0
