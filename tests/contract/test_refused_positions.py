"""Positions on Kafka: one that was refused is recorded again, also where no further message comes; and one
that all was read before is the partition's end, past what is no message."""

import asyncio

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from muster.bus.kafka_member import KafkaMember
from muster.conformance.kafka import KafkaBuses
from muster.engine.bus import Outgoing, Place, Reach
from polling import until

pytestmark = pytest.mark.kafka


class Rebalancing:
    """A client whose group is being given its partitions anew: the first positions are refused."""

    def __init__(self, client: Consumer, member: KafkaMember) -> None:
        self._client, self._member = client, member
        self.refused = 0

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        self.refused += 1
        self._member._noted(KafkaError(KafkaError.REBALANCE_IN_PROGRESS), offsets)
        self._member._consumer = self._client


async def test_a_position_that_was_refused_is_recorded_again(kafka_bootstrap: str) -> None:
    buses = KafkaBuses({"bootstrap.servers": kafka_bootstrap})
    bus = buses.bus("here")
    topic = f"refused-{id(buses)}"
    await buses.make(topic)
    [(place, _), *_] = await bus.publish([Outgoing(topic, b"1", b"key"), Outgoing(topic, b"2", b"key")])
    member = KafkaMember({"bootstrap.servers": kafka_bootstrap}, f"group-{topic}")
    await member.subscribe([topic])

    async def fetched() -> bool:
        return bool(await member.fetch(10, 0.5))

    await until(fetched)
    assert member._consumer is not None
    member._consumer = client = Rebalancing(member._consumer, member)  # type: ignore[assignment]
    await member.record({place: 2})
    assert client.refused == 1

    async def recorded() -> bool:
        await member.fetch(10, 0.1)
        return await _recorded(member, place) == 2

    await until(recorded)
    await member.leave()
    await buses.close()


async def test_what_ends_with_a_transaction_is_read_to_its_end(kafka_bootstrap: str) -> None:
    buses = KafkaBuses({"bootstrap.servers": kafka_bootstrap})
    topic = f"ended-{id(buses)}"
    await buses.make(topic)
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "transactional.id": topic})
    await asyncio.to_thread(producer.init_transactions, 30)
    producer.begin_transaction()
    producer.produce(topic, b"1", b"key", partition=0)
    await asyncio.to_thread(producer.commit_transaction, 30)
    place = Place(topic, 0)

    async def joined() -> KafkaMember:
        """One that has had the message, and has seen the end after it."""
        member = KafkaMember({"bootstrap.servers": kafka_bootstrap}, f"group-{topic}")
        await member.subscribe([topic])

        async def at_the_end() -> bool:
            await member.fetch(10, 0.5)
            return place in member._reached

        await until(at_the_end)
        assert member.owns(place), "it came"
        return member

    await (await joined()).leave()
    member = await joined()  # nobody has dealt with it, so it comes again
    await member.record({place: 1})

    async def is_read() -> bool:
        await member.fetch(10, 0.1)
        return (await member.reach() or {})[place] == Reach(2, 2)

    await until(is_read)
    assert not any((await member.lag()).values())
    await member.leave()
    await buses.close()


async def _recorded(member: KafkaMember, place: Place) -> int:
    def ask() -> int:
        assert member._consumer is not None
        [found] = member._consumer.committed([TopicPartition(*place)], timeout=10)
        return int(found.offset)

    return await member._run(ask)


async def test_how_much_waits_is_known_while_nothing_is_fetched(kafka_bootstrap: str) -> None:
    """Its handler is busy, or the store is away: more comes meanwhile, and nobody is told of it."""
    buses = KafkaBuses({"bootstrap.servers": kafka_bootstrap})
    bus = buses.bus("here")
    topic = f"waiting-{id(buses)}"
    await buses.make(topic)
    [(place, _)] = await bus.publish([Outgoing(topic, b"1", b"key")])
    member = KafkaMember({"bootstrap.servers": kafka_bootstrap}, f"group-{topic}")
    await member.subscribe([topic])

    async def fetched() -> bool:
        return bool(await member.fetch(10, 0.5))

    await until(fetched)
    await member.hold()
    await bus.publish([Outgoing(topic, b"2", b"key"), Outgoing(topic, b"3", b"key")])
    assert (await member.lag())[place] == 3
    await member.leave()
    await buses.close()
