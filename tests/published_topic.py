"""A topic that the outbox is published to: what is written for it, and what a reader of it sees."""

import asyncio
from collections import Counter
from functools import partial

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import func, select

from kafka_stranger import Stranger
from muster.engine.outbox import OutgoingMessage
from muster.store.database import Database
from muster.store.outbox import add_messages
from muster.store.tables import outbox_message

TOPIC, PARTITIONS = "orders", 3
TOGETHER = 20


def make_topic(brokers: str, copies: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    [made] = admin.create_topics([NewTopic(TOPIC, PARTITIONS, copies)]).values()
    made.result()


async def write(database: Database, count: int, seconds: float) -> None:
    """So many messages, some in each transaction, spread over this time."""
    for first in range(0, count, TOGETHER):
        some = [
            OutgoingMessage(f"m{number}", TOPIC, str(number).encode(), f"key-{number % 7}".encode())
            for number in range(first, min(count, first + TOGETHER))
        ]
        await database.write(partial(add_messages, messages=some))
        await asyncio.sleep(seconds * TOGETHER / count)


async def none_waits(database: Database) -> bool:
    left = select(func.count()).where(outbox_message.c.published_at.is_(None))
    return await database.read(lambda connection: connection.scalar(left)) == 0


def read(brokers: str) -> list[tuple[bytes, int]]:
    """Key and number of all that is committed; those of a partition are in its order."""
    return [(seen.key or b"", int(seen.value or b"")) for seen in Stranger(brokers).read(TOPIC)]


def check_once_each(found: list[tuple[bytes, int]], count: int) -> None:
    """Every message is there once, and those of one key are in their order."""
    counts = Counter(number for _, number in found)
    assert [number for number, times in counts.items() if times > 1] == []
    assert sorted(counts) == list(range(count))
    for key in {key for key, _ in found}:
        numbers = [number for each, number in found if each == key]
        assert numbers == sorted(numbers), "messages of one key are in their order"
