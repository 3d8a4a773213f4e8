"""Kafka and its consumers go down without warning, and nothing is lost or done twice."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import select

from databases import fresh_database
from muster.bus.kafka import KafkaBus
from muster.engine.bus import Outgoing
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.tables import audit_log
from own_kafka import own_kafka
from polling import until

CONSUMER = Path(__file__).with_name("consumes_until_killed.py")
TOPIC = "orders"


@contextmanager
def consuming(brokers: str, url: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, str(CONSUMER), brokers, TOPIC, url]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


async def made(brokers: str) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    [topic] = admin.create_topics([NewTopic(TOPIC, 4, 1)]).values()
    await asyncio.to_thread(topic.result)


async def handled(database: Database) -> Counter[str]:
    chosen = select(audit_log.c.action)
    return Counter(await database.read(lambda connection: connection.scalars(chosen).all()))


async def publish(bus: KafkaBus, start: int, count: int) -> None:
    numbers = range(start, start + count)
    await bus.publish([Outgoing(TOPIC, str(each).encode(), f"key-{each % 9}".encode()) for each in numbers])


async def at_least(database: Database, count: int) -> None:
    async def there() -> bool:
        return len(await handled(database)) >= count

    await until(there, every=0.1)


@pytest.mark.kafka
@pytest.mark.slow
async def test_a_killed_consumer_and_a_killed_broker_lose_nothing_and_repeat_nothing() -> None:
    with own_kafka() as kafka:
        await made(kafka.bootstrap)
        bus = KafkaBus({"bootstrap.servers": kafka.bootstrap, "delivery.timeout.ms": 120_000})
        async with fresh_database("sqlite", None) as url:
            database = open_database(url)
            await migrate(database)
            with consuming(kafka.bootstrap, url) as first:
                await publish(bus, 0, 100)
                await at_least(database, 1)
                first.kill()
            await publish(bus, 100, 100)
            with consuming(kafka.bootstrap, url):
                await at_least(database, 150)
                kafka.kill()
                publishing = asyncio.create_task(publish(bus, 200, 100))
                await asyncio.to_thread(kafka.start)
                await publishing
                await at_least(database, 300)
            assert await handled(database) == Counter(map(str, range(300)))
            await database.close()
        await bus.close()
