"""Messages that are written while others are being sent get their places meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from muster.engine import stream_publisher
from muster.store.database import Database
from muster.store.tables import outbox_message
from outbox_house import AroundChannels, AroundStreams, Log, OutboxHouse
from polling import PATIENCE, until

LINGER = 0.2


class Patient:
    """`asyncio`, where whoever lingers is seen to."""

    def __init__(self, linger: Callable[[float], Awaitable[None]]) -> None:
        self._linger = linger

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        if seconds == LINGER:
            await self._linger(seconds)
        else:
            await asyncio.sleep(seconds)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def house(database: Database, log: Log) -> OutboxHouse:
    return OutboxHouse(database, log)


async def test_what_is_told_of_while_others_are_sent_has_its_place_by_then(
    house: OutboxHouse, log: Log
) -> None:
    is_sending, may_go_on = asyncio.Event(), asyncio.Event()

    async def held_up(name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        if name == "send":
            is_sending.set()
            await may_go_on.wait()
        return await call()

    publisher = house.publisher(channels=AroundChannels(log, held_up))
    await house.write(2)
    working = asyncio.create_task(publisher.work())
    await asyncio.wait_for(is_sending.wait(), PATIENCE)
    await house.write(3)
    publisher.wake()

    async def all_have_places() -> bool:
        without = select(func.count()).where(outbox_message.c.seq.is_(None))
        return await house.database.read(lambda connection: connection.scalar(without)) == 0

    await until(all_have_places)
    assert log.values == []
    may_go_on.set()
    await asyncio.wait_for(working, PATIENCE)
    assert log.values == await house.marked() == house.expected()
    assert house.heard.batches == [[1, 2], [3, 4, 5]]


async def test_no_more_is_claimed_ahead_than_a_batch(house: OutboxHouse, log: Log) -> None:
    claimed: list[int] = []

    async def counted(name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        result = await call()
        if name == "claim":
            claimed.extend(queued.seq for queued in result)
        if name == "send":
            sent = log.markers[next(iter(log.markers))]
            assert len([seq for seq in claimed if seq > sent]) <= 4, "one that is sent, and one that is ready"
        return result

    streams = AroundStreams(house.streams(), counted)
    await house.write(15)
    await house.publisher(streams=streams, channels=AroundChannels(log, counted), batch_size=2).work()
    assert log.values == house.expected()


async def test_the_first_waits_for_others_as_long_as_it_is_told_to(
    house: OutboxHouse, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def others_come(seconds: float) -> None:
        waited.append(seconds)
        await house.write(2)

    publisher = house.publisher(linger=LINGER)
    await publisher.work()
    await house.write(1)
    monkeypatch.setattr(stream_publisher, "asyncio", Patient(others_come))
    await publisher.work()
    assert waited == [LINGER]
    assert house.heard.batches == [[1, 2, 3]], "they went together"


async def test_a_publisher_whose_messages_cannot_be_marked_says_so(house: OutboxHouse, log: Log) -> None:
    async def unmarkable(name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        if name == "mark":
            raise RuntimeError("not today")
        return await call()

    await house.write(3)
    with pytest.raises(RuntimeError):
        await house.publisher(streams=AroundStreams(house.streams(), unmarkable)).work()
    await house.publisher().work()
    assert log.values == await house.marked() == house.expected()
