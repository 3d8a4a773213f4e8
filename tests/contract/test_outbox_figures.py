"""What instances say of the outbox is what the database knows, whichever of them it happened on."""

from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from clocks import ShiftedClock
from muster.app.publishing_metrics import OutboxFigures
from muster.engine.outbox import Stream
from muster.store.database import Database
from muster.store.outbox_lists import OutboxLists
from muster.store.outbox_renewal import StreamRenewal
from outbox_house import Log, OutboxHouse


class Instance:
    """What Prometheus finds on one of several instances."""

    def __init__(self, database: Database, clock: ShiftedClock) -> None:
        self._registry = CollectorRegistry()
        self._figures = OutboxFigures(OutboxLists(database), self._registry, clock)

    async def says(self, name: str) -> float | None:
        await self._figures.look()
        return self._registry.get_sample_value(f"muster_outbox_{name}", {"stream": Stream.EXECUTIONS})


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def instances(database: Database, clock: ShiftedClock) -> list[Instance]:
    return [Instance(database, clock) for _ in range(2)]


async def test_a_stream_has_stopped_on_every_instance_until_it_is_renewed_on_one(
    database: Database, instances: list[Instance]
) -> None:
    house = OutboxHouse(database, Log())
    await house.write(1)
    await house.publisher("a").work()
    assert [await each.says("stopped") for each in instances] == [0, 0]
    await house.publisher("a", channels=Log()).work()
    assert [await each.says("stopped") for each in instances] == [1, 1]
    await StreamRenewal(database, lambda stream: None).renew(Stream.EXECUTIONS, "ann", "another Kafka")
    assert [await each.says("stopped") for each in instances] == [0, 0]


async def test_what_waits_is_counted_with_the_age_of_the_oldest(
    database: Database, instances: list[Instance], clock: ShiftedClock
) -> None:
    house = OutboxHouse(database, Log())
    await house.write(3)
    clock.ahead += timedelta(hours=1)
    for each in instances:
        assert await each.says("pending") == 3
        assert (await each.says("oldest_seconds") or 0) > 3500
    await house.publisher("a").work()
    assert [(await each.says("pending"), await each.says("oldest_seconds")) for each in instances] == [
        (0, 0)
    ] * 2
