"""Somebody else on a real Kafka: reads and writes as its own client does, and knows nothing of Muster."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from polling import PATIENCE, until


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as a reader of what is committed sees it."""

    key: bytes | None
    value: bytes | None
    headers: dict[str, str]


class Stranger:
    def __init__(self, brokers: str) -> None:
        self._client = {"bootstrap.servers": brokers}

    async def make(self, *topics: str) -> None:
        admin = AdminClient(self._client)  # kept until all are made
        for made in admin.create_topics([NewTopic(topic, 2, 1) for topic in topics]).values():
            await asyncio.to_thread(made.result)

    async def send(self, topic: str, value: bytes, **headers: str | bytes) -> None:
        """`_` in the names of headers is `-`."""
        named = [(name.replace("_", "-"), text) for name, text in headers.items()]
        producer = Producer(self._client)
        producer.produce(topic, value, headers=list(named))
        assert await asyncio.to_thread(producer.flush, PATIENCE) == 0

    async def has(self, topic: str, count: int) -> Sequence[Seen]:
        """All that is committed there, once there is so much."""

        async def found() -> Sequence[Seen]:
            seen = await asyncio.to_thread(self.read, topic)
            return seen if len(seen) >= count else []

        return await until(found, every=0.2)

    def read(self, topic: str) -> list[Seen]:
        """All that is committed there by now, each partition in its order; nothing, if there is no topic."""
        reader = Consumer(
            {
                **self._client,
                "group.id": "stranger",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        try:
            known = reader.list_topics(timeout=PATIENCE).topics.get(topic)
            parts = sorted(known.partitions) if known is not None else []
            reader.assign([TopicPartition(topic, part, 0) for part in parts])
            found, left = list[Seen](), len(parts)
            while left:
                record = reader.poll(PATIENCE)
                assert record is not None, "the broker does not answer"
                if (error := record.error()) is not None:
                    assert error.code() == KafkaError._PARTITION_EOF
                    left -= 1
                    continue
                pairs = record.headers() or ()
                headers = {name: bytes(text or b"").decode(errors="replace") for name, text in pairs}
                found.append(Seen(record.key(), record.value(), headers))
            return found
        finally:
            reader.close()
