"""A topic that the outbox is published to: what is written for it, and what a reader of it sees."""

import asyncio
from collections import Counter
from functools import partial

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import func, select

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
    """Key and number of all that is committed, in the order of the partitions."""
    found = committed(brokers, TOPIC, PARTITIONS)
    return [(bytes(record.key() or b""), int(record.value() or b"")) for record in found]


def committed(brokers: str, topic: str, partitions: int) -> list[Message]:
    """All that is committed, in the order of the partitions."""
    reader = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    reader.assign([TopicPartition(topic, place, 0) for place in range(partitions)])
    found, left = list[Message](), partitions
    while left:
        record = reader.poll(30)
        assert record is not None, "the broker does not answer"
        if (error := record.error()) is None:
            found.append(record)
        else:
            assert error.code() == KafkaError._PARTITION_EOF
            left -= 1
    reader.close()
    return found


def check_once_each(found: list[tuple[bytes, int]], count: int) -> None:
    """Every message is there once, and those of one key are in their order."""
    counts = Counter(number for _, number in found)
    assert [number for number, times in counts.items() if times > 1] == []
    assert sorted(counts) == list(range(count))
    for key in {key for key, _ in found}:
        numbers = [number for each, number in found if each == key]
        assert numbers == sorted(numbers), "messages of one key are in their order"
