"""What Kafka's client is set to, and what its errors mean."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Message as Record

from muster.engine.bus import BusAway, Headers, Message, TooLarge, UnknownTopic

log = logging.getLogger("muster.kafka")

Config = Mapping[str, str | int | float | bool]

# What is set unless the settings say otherwise, and what is promised whatever they say.
PRODUCER: Config = {
    "linger.ms": 2,
    # As Kafka's own clients do it, so that a key's messages are together whoever sends them.
    "partitioner": "murmur2_random",
    "delivery.timeout.ms": 30_000,
}
PRODUCER_ALWAYS: Config = {"enable.idempotence": True, "acks": "all"}
CONSUMER_ALWAYS: Config = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    # That all was read is told: after the last message there may be what is none, markers of transactions.
    "enable.partition.eof": True,
    "partition.assignment.strategy": "cooperative-sticky",
}
CONSUMER: Config = {
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 2_000,
    # What is fetched ahead is bounded, in all and for each partition.
    "queued.max.messages.kbytes": 16_384,
    "queued.min.messages": 2_000,
    # A topic that was not there may have been made.
    "topic.metadata.refresh.interval.ms": 10_000,
    "allow.auto.create.topics": False,
}

# As many partitions or copies as the broker thinks right.
BY_DEFAULT = -1
TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD}
NO_TOPIC = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
}


def error_of(raised: KafkaException | KafkaError) -> KafkaError | None:
    """What the client says went wrong, in its own terms."""
    if isinstance(raised, KafkaError):
        return raised
    found = raised.args[0] if raised.args else None
    return found if isinstance(found, KafkaError) else None


def trouble(raised: KafkaException | KafkaError, topic: str = "") -> Exception:
    """The error in the terms of whoever publishes or consumes."""
    error = error_of(raised)
    if error is None:
        return BusAway(str(raised))
    if error.code() in TOO_LARGE:
        return TooLarge(f"the message is too large for the topic {topic!r}: {error.str()}")
    if error.code() in NO_TOPIC:
        return UnknownTopic(f"{topic}: {error.str()}")
    return BusAway(error.str())


def message_of(record: Record) -> Message:
    """A record as the bus has it. Those of producers that give no time are of the beginning of time."""
    topic, partition, offset = record.topic(), record.partition(), record.offset()
    assert topic is not None, "a record without an error has a topic"
    assert partition is not None, "and a partition"
    assert offset is not None, "and an offset"
    _, milliseconds = record.timestamp()
    headers: Headers = tuple((name, _bytes(value) or b"") for name, value in _pairs(record))
    at = datetime.fromtimestamp(max(milliseconds, 0) / 1000, UTC)
    return Message(topic, partition, offset, _bytes(record.key()), _bytes(record.value()), headers, at)


def _pairs(record: Record) -> list[tuple[str, object]]:
    found = record.headers() or []
    return [(str(pair[0]), pair[1]) for pair in found]


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode()
