"""The outbox on a real Kafka whose client is wrapped: whoever publishes dies at any call of its loop, and the
client answers late, or so that nobody knows what has happened."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from dying import Died, Dying
from muster.bus import kafka_transactions
from muster.engine.bus import BusAway
from muster.engine.publishing import Channel, Channels
from muster.engine.stream_publisher import StreamPublisher
from outbox_house import AroundStreams, OutboxHouse
from outbox_on_kafka import Broker, house_on
from polling import PATIENCE

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

# More than it does to publish three messages and refuse one, in batches of two.
CALLS = 60
# So many are tried beside each other: mostly they wait, for Kafka to be done with those who have died.
LANES = 8
SOONER_THAN_ANSWERED = 0.0001

AroundCall = Callable[[str, Callable[..., Any], tuple[Any, ...]], Any]


class WrappedProducer:
    """The client's producer, whose calls something is done around; those that only look are no points of the
    loop."""

    def __init__(self, around: AroundCall, config: dict[str, Any], logger: Any) -> None:
        self._inner, self._around = Producer(config, logger=logger), around

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if name in ("flush", "list_topics", "poll", "purge"):
            return inner
        return lambda *given, **named: self._around(name, lambda *args: inner(*args, **named), given)


class WrappedChannels:
    """Channels with such producers."""

    def __init__(self, inner: Channels, around: AroundCall, wrapping: dict[str, AroundCall]) -> None:
        self._inner, self._around, self._wrapping = inner, around, wrapping

    def open(self, name: str) -> Channel:
        self._wrapping[name] = self._around
        return self._inner.open(name)


Wrap: TypeAlias = Callable[[AroundCall], WrappedChannels]


@pytest.fixture
def broker(kafka_bootstrap: str) -> Broker:
    return Broker(kafka_bootstrap)


@pytest.fixture
def wrap(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Wrap:
    wrapping: dict[str, AroundCall] = {}

    def wrapped(config: dict[str, Any], logger: Any) -> WrappedProducer:
        return WrappedProducer(wrapping[config["transactional.id"]], config, logger)

    monkeypatch.setattr(kafka_transactions, "Producer", wrapped)
    return lambda around: WrappedChannels(broker.channels, around, wrapping)


def unharmed(name: str, call: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    return call(*given)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_publisher_may_die_at_any_call_of_its_client_or_its_store(
    broker: Broker, wrap: Wrap, after: bool
) -> None:
    topic, expected = broker.make(), list[bytes]()

    async def lane(first: int) -> None:
        async with house_on(broker) as house:
            for at in range(first, CALLS, LANES):
                values = [f"{at}/{number}".encode() for number in range(3)]
                expected.extend(values)
                dying = Dying(at, after)
                await die_once(house, wrap, dying, topic, values)
                assert await house.marked() == values, f"died at call {at}"
                if not dying.dead:
                    return
        pytest.fail("it makes more calls than were tried")

    await asyncio.gather(*map(lane, range(1, LANES + 1)))
    assert await asyncio.to_thread(broker.read, topic) == sorted(expected)


async def die_once(house: OutboxHouse, wrap: Wrap, dying: Dying, topic: str, values: list[bytes]) -> None:
    """Somebody dies over these messages and one that is too large, and another goes on."""
    await house.empty()
    for value in (values[0], b"x" * 2_000_000, *values[1:]):
        await house.write_value(value, topic)
    doomed = wrap(lambda name, call, given: dying.call(lambda: call(*given)))
    first = house.publisher("a", AroundStreams(house.streams("a"), dying), doomed, batch_size=2)
    with suppress(Died):
        await first.work()
    await house.end_lease()
    await go_on(house.publisher("b", channels=wrap(unharmed), batch_size=2))


async def go_on(publisher: StreamPublisher) -> None:
    """Until all is published: where the client says that it is of no more use, another is opened."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(BusAway):
                await publisher.work()
                return


async def test_a_commit_whose_answer_is_late_is_asked_for_again(broker: Broker, wrap: Wrap) -> None:
    topic, late = broker.make(), list[str]()

    def impatient(name: str, call: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        if name not in ("commit_transaction", "abort_transaction") or name in late:
            return call(*given)
        late.append(name)
        return call(SOONER_THAN_ANSWERED)  # which goes on without us

    async with house_on(broker) as house:
        await house.write(1, topic)
        await house.write_value(b"x" * 2_000_000, topic)
        await house.write(2, topic)
        await house.publisher(channels=wrap(impatient), batch_size=2).work()
        assert sorted(late) == ["abort_transaction", "commit_transaction"]
        assert house.heard.takeovers == 1, "nothing was uncertain"
        assert await asyncio.to_thread(broker.read, topic) == sorted(house.expected())


@pytest.mark.parametrize("name", ["init_transactions", "begin_transaction", "produce", "commit_transaction"])
@pytest.mark.parametrize("happened", [False, True], ids=["in vain", "done"])
async def test_after_what_nobody_knows_the_outcome_of_the_marker_says_it(
    broker: Broker, wrap: Wrap, name: str, happened: bool
) -> None:
    """An error that says neither that it may be tried again nor that it has to be aborted."""
    topic, failed = broker.make(), list[str]()

    def failing(called: str, call: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        if called != name or failed:
            return call(*given)
        failed.append(called)
        if happened:
            call(*given)
        raise KafkaException(KafkaError(KafkaError._FATAL, "nobody knows", fatal=True))

    async with house_on(broker) as house:
        await house.write(3, topic)
        publisher = house.publisher(channels=wrap(failing), batch_size=2)
        with pytest.raises(BusAway):
            await publisher.work()
        assert failed
        await publisher.work()
        assert await asyncio.to_thread(broker.read, topic) == sorted(house.expected())
        assert await house.marked() == house.expected()
