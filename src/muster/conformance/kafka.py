"""Kafka as several processes see it; and its topics and groups, which are gone when they were used."""

import asyncio
import logging
from concurrent.futures import Future
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from muster.bus.kafka import KafkaBus
from muster.bus.kafka_client import BY_DEFAULT, Config, error_of
from muster.bus.kafka_transactions import KafkaChannels
from muster.conformance.checks import NotKept
from muster.engine.bus import Bus, BusAway

PARTITIONS = 8
ASK_SECONDS = 20.0
CHECK_SECONDS = 5.0
# Soon enough for whoever waits for a member that has crashed; brokers allow six seconds or more.
SESSION_MS = 6_000
log = logging.getLogger("muster.kafka")
FORBIDDEN = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}


class NotAllowed(Exception):
    """The broker does not let this client make topics."""


class KafkaBuses:
    """Processes that share a broker."""

    def __init__(self, client: Config) -> None:
        self._client: Config = {"session.timeout.ms": SESSION_MS, **client}
        self._buses: list[KafkaBus] = []

    def bus(self, name: str) -> Bus:
        self._buses.append(KafkaBus({**self._client, "client.id": name}))
        return self._buses[-1]

    async def make(self, topic: str) -> None:
        await asyncio.to_thread(make_topic, self._client, topic)

    async def close(self) -> None:
        for bus in self._buses:
            await bus.close()


def make_topic(client: Config, topic: str, partitions: int = PARTITIONS) -> None:
    """With as many copies as the brokers think right. Raises `NotAllowed`, `BusAway`."""
    admin = AdminClient(dict(client), logger=log)
    check(admin)
    new = NewTopic(topic, partitions, BY_DEFAULT)
    [made] = admin.create_topics([new], request_timeout=ASK_SECONDS).values()
    try:
        made.result()
    except KafkaException as raised:
        error = error_of(raised)
        if error is not None and error.code() in FORBIDDEN:
            raise NotAllowed(error.str()) from None
        raise BusAway(str(raised) if error is None else error.str()) from None


def check(admin: AdminClient) -> None:
    """Raises `BusAway`: soon, while making something is waited for longer."""
    try:
        admin.list_topics(timeout=CHECK_SECONDS)
    except KafkaException as raised:
        error = error_of(raised)
        raise BusAway(str(raised) if error is None else error.str()) from None


class Broker:
    """Topics of one's own, and what readers of committed messages see in them."""

    def __init__(self, client: Config, prefix: str = "") -> None:
        self.client, self.prefix, self._made = client, prefix, 0
        self.channels = KafkaChannels(client, f"{prefix}markers")

    async def topic(self) -> str:
        self._made += 1
        topic = f"{self.prefix}transactions-{self._made}"
        await asyncio.to_thread(make_topic, self.client, topic, 1)
        return topic

    async def read(self, topic: str) -> list[bytes]:
        """All that is committed, in its order."""
        return await asyncio.to_thread(self._read, topic)

    def _read(self, topic: str) -> list[bytes]:
        reader = Consumer(
            {
                **self.client,
                "group.id": f"{self.prefix}reader",  # nothing is recorded under it
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            },
            logger=log,
        )
        try:
            reader.assign([TopicPartition(topic, 0, 0)])
            return _until_the_end(reader)
        finally:
            reader.close()


def _until_the_end(reader: Consumer) -> list[bytes]:
    found: list[bytes] = []
    while True:
        record = reader.poll(ASK_SECONDS)
        if record is None:
            raise NotKept(f"the broker gave neither a message nor the end within {ASK_SECONDS:.0f} seconds")
        if (error := record.error()) is None:
            found.append(bytes(record.value() or b""))
        elif error.code() == KafkaError._PARTITION_EOF:
            return found
        elif not error.retriable():
            raise NotKept(error.str())


def remove_all(client: Config, prefix: str) -> list[str]:
    """Remove every topic and group whose name begins so; the names of those that are still there."""
    admin = AdminClient(dict(client), logger=log)
    topics = [name for name in admin.list_topics(timeout=ASK_SECONDS).topics if name.startswith(prefix)]
    listed = admin.list_consumer_groups(request_timeout=ASK_SECONDS).result()
    groups = [group.group_id for group in listed.valid if group.group_id.startswith(prefix)]
    left = _waited(admin.delete_consumer_groups(groups, request_timeout=ASK_SECONDS)) if groups else []
    return left + (_waited(admin.delete_topics(topics, request_timeout=ASK_SECONDS)) if topics else [])


def _waited(asked: dict[str, "Future[Any]"]) -> list[str]:
    return [name for name, future in asked.items() if future.exception() is not None]
