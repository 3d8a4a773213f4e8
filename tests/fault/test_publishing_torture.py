"""Publishers are killed and frozen, and their broker goes down without warning: a reader of what is committed
sees every message once."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import func, select

from databases import fresh_database
from muster.engine.outbox import OutgoingMessage
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.outbox import add_messages
from muster.store.tables import outbox_message
from own_kafka import OwnKafka, own_kafka
from polling import until

PUBLISHER = Path(__file__).with_name("publishes_until_killed.py")
TOPIC, PARTITIONS = "orders", 3
# `make publishing` tries more.
MESSAGES = int(os.environ.get("PUBLISHING_MESSAGES", "600"))
SEED = int(os.environ.get("PUBLISHING_SEED", "1"))
EVERY = float(os.environ.get("PUBLISHING_EVERY", "1.0"))
TOGETHER = 20
NAMES = ("a", "b")


class Publishers:
    """Processes that publish; whoever goes down is started again."""

    def __init__(self, brokers: str, url: str, chance: random.Random) -> None:
        self._brokers, self._url, self._chance = brokers, url, chance
        self._running = {name: self._start(name) for name in NAMES}
        self.kills = self.freezes = 0

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(PUBLISHER), self._brokers, self._url, name]
        return subprocess.Popen(command)

    async def blow(self) -> None:
        """In turn: kill one, or freeze it for longer than its lease and wake it again as a zombie."""
        name = self._chance.choice(NAMES)
        if self.kills <= self.freezes:
            self._running[name].kill()
            self._running[name].wait()
            self._running[name] = self._start(name)
            self.kills += 1
        else:
            self._running[name].send_signal(signal.SIGSTOP)
            await asyncio.sleep(2.5)
            self._running[name].send_signal(signal.SIGCONT)
            self.freezes += 1

    def end(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()


async def write(database: Database, seconds: float) -> None:
    """All messages, some in each transaction, spread over this time."""
    for first in range(0, MESSAGES, TOGETHER):
        some = [
            OutgoingMessage(f"m{number}", TOPIC, str(number).encode(), f"key-{number % 7}".encode())
            for number in range(first, min(MESSAGES, first + TOGETHER))
        ]
        await database.write(partial(add_messages, messages=some))
        await asyncio.sleep(seconds * TOGETHER / MESSAGES)


async def waiting(database: Database) -> int:
    left = select(func.count()).where(outbox_message.c.published_at.is_(None))
    return await database.read(lambda connection: connection.scalar(left) or 0)


def read(brokers: str) -> list[tuple[bytes, int]]:
    """Key and number of all that is committed, in the order of the partitions."""
    reader = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    reader.assign([TopicPartition(TOPIC, place, 0) for place in range(PARTITIONS)])
    found, left = list[tuple[bytes, int]](), PARTITIONS
    while left:
        record = reader.poll(30)
        assert record is not None, "the broker does not answer"
        if (error := record.error()) is None:
            found.append((bytes(record.key() or b""), int(record.value() or b"")))
        else:
            assert error.code() == KafkaError._PARTITION_EOF
            left -= 1
    reader.close()
    return found


def make_topic(kafka: OwnKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    [made] = admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values()
    made.result()


@pytest.mark.kafka
@pytest.mark.postgres
@pytest.mark.slow
async def test_readers_see_every_message_once_whatever_goes_down(postgres_url: str) -> None:
    with own_kafka() as kafka:
        make_topic(kafka)
        async with fresh_database("postgres", postgres_url) as url:
            database = open_database(url)
            await migrate(database)
            publishers = Publishers(kafka.bootstrap, url, random.Random(SEED))
            try:
                writing = asyncio.create_task(write(database, max(6.0, MESSAGES / 200)))
                restarted = False
                while not writing.done() or not restarted:
                    await asyncio.sleep(EVERY)
                    await publishers.blow()
                    if not restarted and publishers.freezes:
                        restarted = True
                        kafka.kill()
                        await asyncio.to_thread(kafka.start)
                await writing

                async def none_waits() -> bool:
                    return await waiting(database) == 0

                await until(none_waits, every=0.5)
            finally:
                publishers.end()
                await database.close()
            found = await asyncio.to_thread(read, kafka.bootstrap)
            counts = Counter(number for _, number in found)
            assert [number for number, count in counts.items() if count > 1] == []
            assert sorted(counts) == list(range(MESSAGES))
            for key in {key for key, _ in found}:
                numbers = [number for each, number in found if each == key]
                assert numbers == sorted(numbers), "messages of one key are in their order"
            sys.stdout.write(
                f"{MESSAGES} messages once each: {publishers.kills} kills, {publishers.freezes} zombies, "
                "one restart of the broker\n"
            )
