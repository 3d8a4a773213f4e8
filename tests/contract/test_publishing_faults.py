"""Whoever publishes may die before or after anything that it does, and nothing is lost or comes twice."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from dying import Died, Dying
from muster.engine.stream_publisher import StreamPublisher
from muster.store.database import Database
from outbox_house import AroundChannels, AroundStreams, Log, OutboxHouse

# More than it does to publish seven messages, of which one is refused, in batches of three.
CALLS = 40


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_publisher_may_die_at_any_point(database: Database, after: bool) -> None:
    for at in range(1, CALLS):
        log = Log()
        house = OutboxHouse(database, log)
        await house.empty()
        await house.write(3)
        await house.write_value(b"x" * 2000)
        await house.write(3)
        dying = Dying(at, after)
        first = house.publisher(
            "a",
            AroundStreams(house.streams("a"), dying),
            AroundChannels(log, dying),
            batch_size=3,
        )
        await until_it_dies(first)
        await house.end_lease()
        await house.write(1)
        await house.publisher("b", batch_size=3).work()
        assert log.values == await house.marked() == house.expected(), f"died at call {at}"
        assert len(house.senders.given_up) == 1
        if not dying.dead:
            return
    pytest.fail("it makes more calls than were tried")


async def until_it_dies(publisher: StreamPublisher) -> None:
    with suppress(Died):
        await publisher.work()


@pytest.mark.parametrize("point", ["lease", "begin", "standing", "claim", "send", "mark"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_publisher_may_be_overtaken_at_any_point(database: Database, point: str, after: bool) -> None:
    """It stops for a while, another publishes in its place, and then it goes on as if nothing were."""
    log = Log()
    house = OutboxHouse(database, log)
    await house.write(4)
    stopped = []

    async def overtaken(name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        if name != point or stopped:
            return await call()
        stopped.append(name)
        if not after:
            await replaced()
            return await call()
        result = await call()
        await replaced()
        return result

    async def replaced() -> None:
        await house.end_lease()
        heir = house.publisher("b", batch_size=2)
        await heir.work()
        await house.write(2)
        await heir.work()

    streams = AroundStreams(house.streams("a"), overtaken)
    zombie = house.publisher("a", streams, AroundChannels(log, overtaken), batch_size=2)
    with suppress(Exception):  # however it hears of it
        await zombie.work()
    assert stopped
    await house.end_lease()
    await house.publisher("c").work()
    assert log.values == await house.marked() == house.expected()
