"""One of three brokers is killed under load: nothing is lost, and nothing comes twice."""

import asyncio
import os

import pytest
from confluent_kafka.admin import AdminClient

from databases import fresh_database
from muster.bus.kafka_transactions import KafkaChannels
from muster.engine.bus import BusAway
from muster.engine.ports import NotWritten
from muster.kit.loop import Loop
from muster.model.topics import MARKERS
from muster.store.migrations import migrate
from muster.store.open import open_database
from outbox_house import OutboxHouse
from own_kafka import three_brokers
from polling import PATIENCE, until
from published_topic import check_once_each, make_topic, none_waits, read, write

MESSAGES = int(os.environ.get("PUBLISHING_MESSAGES", "600"))
AWAY = (BusAway, NotWritten)


def leader_of_markers(brokers: str) -> int:
    """The broker that whoever publishes needs most."""
    topics = AdminClient({"bootstrap.servers": brokers}).list_topics(timeout=PATIENCE).topics
    return topics[MARKERS].partitions[0].leader


@pytest.mark.kafka
@pytest.mark.postgres
@pytest.mark.slow
async def test_nothing_is_lost_with_one_of_three_brokers(postgres_url: str) -> None:
    with three_brokers() as kafka:
        make_topic(kafka.bootstrap, copies=3)
        async with fresh_database("postgres", postgres_url) as url:
            database = open_database(url)
            await migrate(database)
            house = OutboxHouse(database, KafkaChannels({"bootstrap.servers": kafka.bootstrap}))
            publishing = asyncio.create_task(Loop("outbox", house.publisher().work, AWAY).run())
            try:
                writing = asyncio.create_task(write(database, MESSAGES, max(6.0, MESSAGES / 200)))

                async def has_begun() -> bool:
                    return bool(house.heard.batches)

                await until(has_begun)
                leader = await asyncio.to_thread(leader_of_markers, kafka.bootstrap)
                assert not writing.done()
                kafka.brokers[leader].kill()
                await asyncio.wait_for(writing, PATIENCE)
                await until(lambda: none_waits(database), every=0.5)
            finally:
                publishing.cancel()
                await asyncio.gather(publishing, return_exceptions=True)
                await database.close()
            check_once_each(await asyncio.to_thread(read, kafka.bootstrap), MESSAGES)
