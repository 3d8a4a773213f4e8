"""The outbox on a real Kafka: what its readers see, and what is certain about the marker."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from uuid import uuid4

import pytest
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from clocks import NOON
from muster.app.publishing import producer_of
from muster.app.settings.watching import ProducerSettings
from muster.bus import kafka_markers
from muster.bus.kafka_markers import read_marker
from muster.bus.kafka_transactions import KafkaChannels
from muster.engine.bus import BusAway, Outgoing
from muster.engine.outbox import Stream
from muster.engine.publishing import Queued, Unpublishable
from outbox_house import OutboxHouse
from outbox_on_kafka import Broker, house_on

pytestmark = pytest.mark.kafka

STREAM = Stream.EXECUTIONS


@pytest.fixture
def broker(kafka_bootstrap: str) -> Broker:
    return Broker(kafka_bootstrap)


@pytest.fixture
async def house(broker: Broker) -> AsyncIterator[OutboxHouse]:
    async with house_on(broker) as house:
        yield house


def batch(topic: str, *values: bytes, start: int = 1) -> Sequence[Queued]:
    return [Queued(start + place, Outgoing(topic, value, b"k"), NOON) for place, value in enumerate(values)]


async def test_readers_see_each_message_once_across_takeovers(house: OutboxHouse, broker: Broker) -> None:
    topic = broker.make()
    await house.write(5, topic)
    first = house.publisher("a", batch_size=2)
    await first.work()
    await house.write(3, topic)
    await house.end_lease()
    await house.publisher("b", batch_size=2).work()
    assert await asyncio.to_thread(broker.read, topic) == sorted(house.expected())
    assert await house.marked() == house.expected()


async def test_what_was_committed_and_not_marked_is_not_sent_again(
    house: OutboxHouse, broker: Broker
) -> None:
    topic = broker.make()
    streams = house.streams("a")
    await house.write(3, topic)
    held = await streams.lease(STREAM)
    assert held is not None
    channel = broker.channels.open(held.name)
    await channel.begin()
    await channel.send(await streams.claim(held, 0, 0, 2))  # and then it dies
    await house.end_lease()
    await house.publisher("b").work()
    assert await asyncio.to_thread(broker.read, topic) == sorted(house.expected())


async def test_a_producer_that_was_replaced_commits_nothing(broker: Broker) -> None:
    topic, name = broker.make(), f"stream-{uuid4().hex}"
    zombie, heir = broker.channels.open(name), broker.channels.open(name)
    assert await zombie.begin() == 0
    await zombie.send(batch(topic, b"a"))
    assert await heir.begin() == 1
    with pytest.raises(BusAway):
        await zombie.send(batch(topic, b"z", start=2))
    await heir.send(batch(topic, b"b", start=2))
    assert await asyncio.to_thread(broker.read, topic) == [b"a", b"b"]
    await zombie.close()
    await heir.close()


async def test_a_message_that_the_client_refuses_is_not_left_out_of_a_commit(broker: Broker) -> None:
    topic, name = broker.make(), f"stream-{uuid4().hex}"
    channel = broker.channels.open(name)
    await channel.begin()
    large = b"x" * 2_000_000
    with pytest.raises(Unpublishable):
        await channel.send(batch(topic, b"a", large, b"b"))
    with pytest.raises(Unpublishable) as refused:
        await channel.send(batch(topic, large))
    assert set(refused.value.reasons) == {1}
    assert await asyncio.to_thread(broker.read, topic) == []
    assert await asyncio.to_thread(read_marker, broker.client, name) == 0
    await channel.send(batch(topic, b"a"))
    assert await asyncio.to_thread(broker.read, topic) == [b"a"]
    await channel.close()


async def test_a_marker_that_is_not_taken_is_no_messages_fault(broker: Broker) -> None:
    topic, markers = broker.make(), broker.make(**{"max.message.bytes": "1"})
    channel = KafkaChannels(broker.client, markers).open(f"stream-{uuid4().hex}")
    await channel.begin()
    with pytest.raises(BusAway):
        await channel.send(batch(topic, b"a"))
    assert await asyncio.to_thread(broker.read, topic) == []
    await channel.close()


async def test_markers_that_are_gone_from_where_they_were_are_not_taken_for_none(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at where they are and the first read."""
    topic, markers = broker.make(), broker.make()
    name, channels = f"stream-{uuid4().hex}", KafkaChannels(broker.client, markers)
    channel = channels.open(name)
    await channel.begin()
    await channel.send(batch(topic, b"a"))
    await channel.close()
    gone = TopicPartition(markers, 0, OFFSET_END)

    def ends(watching: Consumer, markers: str) -> tuple[int, int]:
        found = kafka_markers_ends(watching, markers)
        [deleted] = broker.admin.delete_records([gone]).values()
        deleted.result()
        return found

    kafka_markers_ends = kafka_markers._ends
    monkeypatch.setattr(kafka_markers, "_ends", ends)
    heir = channels.open(name)
    with pytest.raises(BusAway):
        await heir.begin()
    await heir.close()


async def test_what_topics_do_not_take_is_refused_alone(house: OutboxHouse, broker: Broker) -> None:
    topic, narrow = broker.make(), broker.make(**{"max.message.bytes": "1000"})
    await house.write(2, topic)
    await house.write_value(b"y" * 5000, narrow)
    await house.write_value(b"lost", f"{topic}-gone")
    await house.write(2, topic)
    await house.publisher().work()
    assert await asyncio.to_thread(broker.read, topic) == sorted(house.expected())
    assert set(house.heard.reasons) == {3, 4}
    assert "no topic" in house.heard.reasons[4]


async def test_watched_events_are_packed_as_the_settings_say_unless_the_clients_say_otherwise(
    broker: Broker,
) -> None:
    """Told by a topic that takes only what is small: packed, this is."""
    settings = ProducerSettings(compression="zstd", linger_ms=0)
    packed = producer_of(Stream.WATCH, settings)
    assert producer_of(Stream.EXECUTIONS, settings) == {}
    topic, large = broker.make(**{"max.message.bytes": "2000"}), b"x" * 100_000
    plain = {**broker.client, "compression.type": "none"}
    for client, is_taken in ((broker.client, True), (plain, False)):
        channel = KafkaChannels(client, producer=packed).open(f"stream-{uuid4().hex}")
        await channel.begin()
        with nullcontext() if is_taken else pytest.raises(Unpublishable):
            await channel.send(batch(topic, large))
        await channel.close()
    assert await asyncio.to_thread(broker.read, topic) == [large]


async def test_a_marker_behind_anothers_open_transaction_is_read(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of what is committed comes to the end of the partition where that transaction begins."""
    topic, name = broker.make(), f"stream-{uuid4().hex}"
    channel = broker.channels.open(name)
    await channel.begin()
    monkeypatch.setattr(kafka_markers, "PATIENCE", 3.0)
    with broker.open_transaction():
        await channel.send(batch(topic, b"a"))
        with pytest.raises(BusAway, match="a transaction of another is open"):
            await asyncio.to_thread(read_marker, broker.client, name)
    monkeypatch.undo()
    assert await asyncio.to_thread(read_marker, broker.client, name) == 1
    await channel.close()


async def test_a_marker_is_found_however_far_back_it_is(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, name = broker.make(), f"stream-{uuid4().hex}"
    channel, other = broker.channels.open(name), broker.channels.open(f"{name}-other")
    await channel.begin()
    await channel.send(batch(topic, b"a"))
    await other.begin()
    for place in range(1, 5):
        await other.send(batch(topic, b"b", start=place))
    monkeypatch.setattr(kafka_markers, "FIRST_LOOK", 1)
    assert await asyncio.to_thread(read_marker, broker.client, name) == 1
    assert await asyncio.to_thread(read_marker, broker.client, f"{name}-other") == 4
    await channel.close()
    await other.close()
