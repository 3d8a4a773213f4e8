"""What only Kafka promises: transactions, and that a producer which was replaced publishes nothing more."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from muster.conformance.checks import Check, NotKept, same
from muster.conformance.kafka import Broker
from muster.engine.bus import BusAway, Outgoing
from muster.engine.publishing import Channel, Queued, Unpublishable

SURELY_TOO_LARGE = 3_000_000


def _batch(topic: str, *values: bytes, start: int = 1) -> Sequence[Queued]:
    at = datetime.now(UTC)
    return [Queued(start + place, Outgoing(topic, value, b"k"), at) for place, value in enumerate(values)]


async def _opened(broker: Broker, stack: AsyncExitStack, name: str) -> Channel:
    channel = broker.channels.open(f"{broker.prefix}{name}")
    stack.push_async_callback(channel.close)
    return channel


async def _all_or_none(broker: Broker) -> None:
    async with AsyncExitStack() as stack:
        topic, channel = await broker.topic(), await _opened(broker, stack, "stream")
        same(await channel.begin(), 0, "the marker of a stream that is new")
        await channel.send(_batch(topic, b"1", b"2"))
        try:
            await channel.send(_batch(topic, b"3", b"x" * SURELY_TOO_LARGE, start=3))
        except Unpublishable:
            await channel.send(_batch(topic, b"3", b"4", start=3))
        else:
            raise NotKept(f"a message of {SURELY_TOO_LARGE:,} bytes was taken")
        same(await broker.read(topic), [b"1", b"2", b"3", b"4"], "what readers of committed messages see")


async def _markers(broker: Broker) -> None:
    async with AsyncExitStack() as stack:
        topic, first = await broker.topic(), await _opened(broker, stack, "marked")
        await first.begin()
        await first.send(_batch(topic, b"1", b"2", b"3"))
        second = await _opened(broker, stack, "marked")
        same(await second.begin(), 3, "up to where the stream was published")


async def _fenced(broker: Broker) -> None:
    async with AsyncExitStack() as stack:
        topic, old = await broker.topic(), await _opened(broker, stack, "fenced")
        await old.begin()
        await old.send(_batch(topic, b"1"))
        new = await _opened(broker, stack, "fenced")
        await new.begin()
        try:
            await old.send(_batch(topic, b"by the old one", start=2))
        except BusAway:
            await new.send(_batch(topic, b"2", start=2))
        else:
            raise NotKept("a producer that was replaced could still publish")
        same(await broker.read(topic), [b"1", b"2"], "what readers of committed messages see")


KAFKA_CHECKS: Sequence[Check[Broker]] = (
    Check(
        "transactions_are_whole",
        "A transaction is there whole or not at all, for readers of committed messages.",
        "Commands and events are published twice, or in part, when a publisher dies or a message is refused.",
        _all_or_none,
    ),
    Check(
        "the_marker_says_how_far_it_was_published",
        "What a transaction publishes and the marker of its last message are there together.",
        "Whoever takes over publishing repeats messages, or leaves some out.",
        _markers,
    ),
    Check(
        "a_producer_that_was_replaced_is_fenced",
        "A producer that was replaced (a zombie that wakes up) publishes nothing more.",
        "An instance that froze and was taken over from publishes the same commands again.",
        _fenced,
    ),
)
