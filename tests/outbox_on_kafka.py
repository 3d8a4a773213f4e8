"""The outbox on a real Kafka, for tests: topics of their own, and what readers of them see."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from uuid import uuid4

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from databases import fresh_database
from kafka_stranger import Stranger
from muster.bus.kafka_markers import MARKERS
from muster.bus.kafka_transactions import KafkaChannels
from muster.store.migrations import migrate
from muster.store.open import open_database
from outbox_house import OutboxHouse

PARTITIONS = 2


class Broker:
    """Topics of a test's own, and what readers of committed messages see in them."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap, self.client = bootstrap, {"bootstrap.servers": bootstrap}
        self.channels = KafkaChannels(self.client)
        self.admin = AdminClient(self.client)

    def make(self, **config: str) -> str:
        topic = f"orders-{uuid4().hex[:8]}"
        [made] = self.admin.create_topics([NewTopic(topic, PARTITIONS, 1, config=config)]).values()
        made.result()
        return topic

    def read(self, topic: str) -> list[bytes]:
        """All that is committed, sorted."""
        return sorted(seen.value or b"" for seen in Stranger(self._bootstrap).read(topic))

    @contextmanager
    def open_transaction(self) -> Iterator[Producer]:
        """Another stream's, with a marker in it, open until the end of the block."""
        other = Producer({**self.client, "transactional.id": f"other-{uuid4().hex}"})
        other.init_transactions(30)
        other.begin_transaction()
        other.produce(MARKERS, b"7", b"other", partition=0)
        other.flush(30)
        try:
            yield other
        finally:
            other.abort_transaction(30)


@asynccontextmanager
async def house_on(broker: Broker) -> AsyncIterator[OutboxHouse]:
    """An outbox in a database of its own that is published to this Kafka."""
    async with fresh_database("sqlite", None) as url:
        database = open_database(url)
        await migrate(database)
        yield OutboxHouse(database, broker.channels)
        await database.close()
