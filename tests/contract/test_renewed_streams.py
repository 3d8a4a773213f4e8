"""A stream that stopped begins anew when somebody says so, and loses and repeats nothing that it knows of."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import select

from muster.engine.outbox import NotStopped, Stream
from muster.engine.publishing import Overtaken
from muster.store.database import Database
from muster.store.outbox_renewal import StreamRenewal
from muster.store.tables import audit_log
from outbox_house import AroundStreams, Log, OutboxHouse


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def house(database: Database, log: Log) -> OutboxHouse:
    return OutboxHouse(database, log)


async def renew(house: OutboxHouse) -> list[Stream]:
    """Who is told to look."""
    told: list[Stream] = []
    await StreamRenewal(house.database, told.append).renew(Stream.EXECUTIONS, "ann", "another Kafka")
    return told


async def test_what_waits_is_published_on_the_other_bus_and_nothing_else(
    house: OutboxHouse, log: Log
) -> None:
    await house.write(3)
    await house.publisher("a").work()
    await house.write(2)
    other = Log()
    await house.publisher("a", channels=other).work()
    assert other.values == []
    assert await renew(house) == [Stream.EXECUTIONS]
    await house.publisher("a", channels=other).work()
    assert log.values + other.values == house.expected()
    assert len(other.values) == 2
    assert len(await house.marked()) == 5
    assert await house.problem() is None


async def test_who_published_before_it_was_renewed_marks_nothing_any_more(
    house: OutboxHouse, log: Log
) -> None:
    """It was about to mark what it had published, whose places are other messages' since."""
    streams = house.streams("a")
    await house.write(2)
    held = await streams.lease(Stream.EXECUTIONS)
    assert held is not None
    await streams.claim(held, 0, 0, 2)
    await streams.stop(held, "another bus")
    await renew(house)
    anew = await streams.lease(Stream.EXECUTIONS)
    assert anew is not None
    assert len(await streams.claim(anew, 0, 0, 2)) == 2
    with pytest.raises(Overtaken):
        await streams.mark(held, 0, 2)
    assert await house.marked() == []
    await house.publisher("a").work()
    assert log.values == await house.marked() == house.expected()


async def test_who_renews_a_stream_is_in_the_audit_log_with_what_was_wrong(house: OutboxHouse) -> None:
    await house.write(1)
    await house.publisher("a").work()
    await house.publisher("a", channels=Log()).work()
    await renew(house)
    [entry] = await house.database.read(lambda connection: connection.execute(select(audit_log)).all())
    assert (entry.entity_type, entry.entity_id, entry.action) == ("outbox_stream", "executions", "renew")
    assert entry.actor == "ann"
    assert entry.details["reason"] == "another Kafka"
    assert "another bus" in entry.details["problem"]


async def test_a_stream_that_goes_on_is_not_renewed(house: OutboxHouse, log: Log) -> None:
    with pytest.raises(NotStopped):
        await renew(house)
    await house.write(2)
    await house.publisher("a").work()
    with pytest.raises(NotStopped):
        await renew(house)
    await house.write(1)
    await house.publisher("a").work()
    assert log.values == house.expected()


async def test_who_was_about_to_go_on_under_the_old_name_publishes_nothing(
    house: OutboxHouse, log: Log
) -> None:
    """The right bus is back, and somebody has found so, when the stream is renewed."""
    await house.write(2)
    await house.publisher("a").work()
    await house.write(2)
    await house.publisher("a", channels=Log()).work()

    async def renewed(name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        result = await call()
        if name == "standing":
            await renew(house)
        return result

    await house.publisher("a", AroundStreams(house.streams("a"), renewed)).work()
    assert len(log.values) == 2
    await house.publisher("a").work()
    assert log.values == house.expected()
