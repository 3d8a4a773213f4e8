"""A stream stays whose it is for as long as the bus takes, and no longer than its fence is the last."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from muster.engine import stream_keeping
from muster.engine.bus import BusAway
from muster.engine.outbox import Stream
from muster.engine.publishing import Overtaken
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.outbox_streams import Lessee, OutboxStreamRepository
from muster.store.tables import outbox_stream
from outbox_house import LEASE, AroundChannels, Log, OutboxHouse
from polling import PATIENCE, until

POINTS = ["begin", "send"]


class Slow:
    """Lets a call of the bus wait until it may go on, and the first of them fail then if it is told to."""

    def __init__(self, point: str) -> None:
        self._point, self.reached, self.may_go_on = point, asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        if name == self._point:
            self.reached.set()
            await self.may_go_on.wait()
            if self.error is not None:
                raise self.error
        return await call()


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def house(database: Database, log: Log) -> OutboxHouse:
    return OutboxHouse(database, log)


@pytest.fixture
def kept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every few hundredths of a second, though the lease is long."""
    monkeypatch.setattr(stream_keeping, "KEPT_AFTER", LEASE / timedelta(seconds=0.03))


async def lease_of(house: OutboxHouse) -> tuple[datetime | None, datetime]:
    """Until when the stream is somebody's, and the time."""
    wanted = select(outbox_stream.c.lease_until).where(outbox_stream.c.stream == Stream.EXECUTIONS)
    return await house.database.write(lambda connection: (connection.scalar(wanted), now(connection)))


async def is_leased(house: OutboxHouse) -> bool:
    ends, at = await lease_of(house)
    return ends is not None and ends > at


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("point", POINTS)
async def test_who_has_a_stream_keeps_it_while_the_bus_takes_its_time(
    house: OutboxHouse, log: Log, point: str
) -> None:
    slow = Slow(point)
    first, second = house.publisher("a", channels=AroundChannels(log, slow)), house.publisher("b")
    await house.write(2)
    working = asyncio.create_task(first.work())
    await asyncio.wait_for(slow.reached.wait(), PATIENCE)
    await house.end_lease()  # as much time has passed
    await until(lambda: is_leased(house))
    await second.work()
    assert not second.has_it
    assert log.values == []
    slow.may_go_on.set()
    await asyncio.wait_for(working, PATIENCE)
    assert first.has_it
    assert log.values == await house.marked() == house.expected()
    assert house.heard.takeovers == 1


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("point", POINTS)
async def test_who_has_lost_the_fence_meanwhile_waits_for_the_bus_no_longer(
    house: OutboxHouse, log: Log, point: str
) -> None:
    slow = Slow(point)
    zombie = house.publisher("a", channels=AroundChannels(log, slow))
    await house.write(2)
    working = asyncio.create_task(zombie.work())
    await asyncio.wait_for(slow.reached.wait(), PATIENCE)
    raised = update(outbox_stream).values(fence=outbox_stream.c.fence + 1, owner=None)
    await house.database.write(lambda connection: connection.execute(raised))
    await asyncio.wait_for(working, PATIENCE)
    assert not zombie.has_it
    await house.publisher("b").work()
    assert log.values == await house.marked() == house.expected()


async def test_who_has_lost_the_fence_keeps_nothing(house: OutboxHouse) -> None:
    streams, others = house.streams("a"), house.streams("b")
    held = await streams.lease(Stream.EXECUTIONS)
    assert held is not None
    await house.end_lease()
    heirs = await others.lease(Stream.EXECUTIONS)
    assert heirs is not None
    await house.end_lease()
    with pytest.raises(Overtaken):
        await streams.keep(held)
    assert not await is_leased(house)
    await others.keep(heirs)
    assert await is_leased(house)


@pytest.mark.parametrize("point", POINTS)
async def test_a_stream_is_left_to_others_where_the_bus_has_not_answered_for_longer_than_a_lease(
    house: OutboxHouse, log: Log, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was kept all the time, and whoever has failed would have it again before anybody else."""
    monkeypatch.setattr(stream_keeping, "LEFT_TO_OTHERS", 0.0)
    slow = Slow(point)
    slow.error = BusAway("no route")
    lessee = Lessee("a/1", "a/", timedelta(seconds=0.5))
    streams = OutboxStreamRepository(house.database, lessee, house.senders)
    cut_off = house.publisher("a", streams, AroundChannels(log, slow))
    await house.write(2)
    working = asyncio.create_task(cut_off.work())
    await asyncio.wait_for(slow.reached.wait(), PATIENCE)
    begun, _ = await lease_of(house)
    assert begun is not None

    async def is_over() -> bool:
        return (await lease_of(house))[1] > begun + lessee.lease

    await until(is_over)
    slow.may_go_on.set()
    with pytest.raises(BusAway):
        await asyncio.wait_for(working, PATIENCE)
    owner = select(outbox_stream.c.owner)
    assert await house.database.read(lambda connection: connection.scalar(owner)) is None
    await house.publisher("b").work()
    assert log.values == await house.marked() == house.expected()
