"""The markers of streams: up to where each was published, in a compacted topic of Muster's own."""

import logging
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from muster.bus.kafka_client import Config
from muster.engine.bus import BusAway
from muster.model.topics import MARKERS

ASK_SECONDS = 10.0
# Longer than any transaction may be open: if nothing has come for so long, nothing comes.
PATIENCE = 30.0
# So far back from the end it is looked first, and each time so many times further.
FIRST_LOOK, FURTHER = 500, 8
ALWAYS: Config = {
    "group.id": "muster.publisher",  # a name that has to be there: nothing is recorded under it
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 20,
    # Who is told to begin where nothing is any more would go on at the end, and find no marker.
    "auto.offset.reset": "error",
}

log = logging.getLogger("muster.kafka")


def read_marker(client: Config, name: str, markers: str = MARKERS) -> int:
    """Up to where a stream was published; 0: there is no marker of it. Nobody else may be publishing it any
    more. Raises `BusAway` if that cannot be said for certain."""
    # Of a reader of what is committed, the end is where the oldest open transaction begins: a marker that was
    # committed behind that would not be seen.
    watching = Consumer({**client, **ALWAYS, "isolation.level": "read_uncommitted"}, logger=log)
    reading = Consumer({**client, **ALWAYS, "isolation.level": "read_committed"}, logger=log)
    try:
        first, end = _ends(watching, markers)
        back = FIRST_LOOK
        while True:
            start = max(first, end - back)
            marker = _highest(reading, name, TopicPartition(markers, 0, start), end)
            if marker or start == first:
                return marker
            back *= FURTHER
    finally:
        reading.close()
        watching.close()


def _ends(watching: Consumer, markers: str) -> tuple[int, int]:
    ends = watching.get_watermark_offsets(TopicPartition(markers, 0), timeout=ASK_SECONDS, cached=False)
    if ends is None:
        raise BusAway("Kafka did not say in time where the markers of streams end")
    first, end = ends
    return first, end


def _highest(reading: Consumer, name: str, start: TopicPartition, end: int) -> int:
    """The highest marker of the stream from `start` to `end`."""
    reading.assign([start])
    found, wanted, until = 0, name.encode(), time.monotonic() + PATIENCE
    while True:
        record = reading.poll(0.5)
        if record is not None and record.error() is None:
            # However many there are: they end, since what comes after `end` is not waited for.
            until = time.monotonic() + PATIENCE
        elif time.monotonic() > until:
            raise BusAway("the markers of streams cannot be read: a transaction of another is open")
        if record is None:
            continue
        if (error := record.error()) is None:
            if (record.offset() or 0) >= end:
                return found
            if record.key() == wanted:
                found = max(found, int(record.value() or b"0"))
        elif error.code() != KafkaError._PARTITION_EOF:
            if not error.retriable():
                raise KafkaException(error)
        elif (record.offset() or 0) >= end:
            return found
