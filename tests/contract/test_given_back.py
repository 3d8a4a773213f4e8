"""A partition that goes to another member of the group and comes back, all while one call waits for messages:
after Kafka was away, say, everybody loses theirs and has them again within milliseconds."""

import asyncio

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from muster.bus.kafka_client import CONSUMER_ALWAYS
from muster.bus.kafka_member import KafkaMember
from muster.conformance.kafka import KafkaBuses
from muster.engine.bus import Place
from polling import until

pytestmark = pytest.mark.kafka


async def test_what_came_meanwhile_is_fetched(kafka_bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    buses = KafkaBuses({"bootstrap.servers": kafka_bootstrap})
    topic = f"given-back-{id(buses)}"
    await buses.make(topic)
    group = f"group-{topic}"
    # That the end of those is reached which it keeps would end the call in between.
    silent = {**CONSUMER_ALWAYS, "enable.partition.eof": False}
    monkeypatch.setattr("muster.bus.kafka_member.CONSUMER_ALWAYS", silent)
    member = KafkaMember({"bootstrap.servers": kafka_bootstrap}, group)
    await member.subscribe([topic])

    async def has_all() -> bool:
        await member.fetch(10, 0.5)
        assert member._consumer is not None
        return len(member._consumer.assignment()) > 1

    await until(has_all)
    monkeypatch.setattr("muster.bus.kafka_member.LOOK_SECONDS", 30.0)
    fetching = asyncio.create_task(member.fetch(10, 30.0))
    place = await asyncio.to_thread(_borrow, kafka_bootstrap, group, topic)
    [message] = await fetching
    assert (message.place, message.value) == (place, b"meanwhile")
    assert member.owns(place)
    await member.leave()
    await buses.close()


def _borrow(brokers: str, group: str, topic: str) -> Place:
    """Have a partition for a while, in which a message comes, and leave without having dealt with it."""
    guest = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
        }
    )
    guest.subscribe([topic])
    while not (had := guest.assignment()):
        guest.poll(0.1)
    place = Place(topic, had[0].partition)
    guest.pause([TopicPartition(*place)])
    producer = Producer({"bootstrap.servers": brokers})
    producer.produce(topic, b"meanwhile", partition=place.partition)
    assert producer.flush(30) == 0
    guest.close()
    return place
