"""Topics of Kafka that are not there yet, or no longer: others are read, and what comes later is, too."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from confluent_kafka.admin import AdminClient

from databases import fresh_database
from muster.conformance.buses import BusHouse, Taking
from muster.conformance.checks import come_to
from muster.conformance.kafka import KafkaBuses
from muster.engine.bus import Outgoing
from muster.store.migrations import migrate
from muster.store.open import open_database

pytestmark = pytest.mark.kafka


@pytest.fixture
async def house(kafka_bootstrap: str) -> AsyncIterator[BusHouse]:
    async with fresh_database("sqlite", None) as url:
        database, buses = open_database(url), KafkaBuses({"bootstrap.servers": kafka_bootstrap})
        await migrate(database)
        yield BusHouse(buses, database)
        await buses.close()
        await database.close()


async def test_a_topic_that_is_not_there_yet_keeps_no_other_from_being_read(house: BusHouse) -> None:
    there, taking = await house.topic("there"), Taking()
    later = there.replace("there", "later")
    async with house.consuming([later, there], taking):
        await house.publish(Outgoing(there, b"1"))
        await come_to(lambda: taking.values == [b"1"])
        assert await house.topic("later") == later
        await house.publish(Outgoing(later, b"2"))
        await come_to(lambda: b"2" in taking.values)


async def test_a_topic_that_was_deleted_keeps_no_other_from_being_read(
    house: BusHouse, kafka_bootstrap: str
) -> None:
    gone, stays, taking = await house.topic("gone"), await house.topic("stays"), Taking()
    async with house.consuming([gone, stays], taking):
        await house.publish(Outgoing(gone, b"1"), Outgoing(stays, b"2"))
        await come_to(lambda: sorted(each or b"" for each in taking.values) == [b"1", b"2"])
        admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
        await asyncio.to_thread(admin.delete_topics([gone])[gone].result)
        await house.publish(Outgoing(stays, b"3"))
        await come_to(lambda: b"3" in taking.values)
