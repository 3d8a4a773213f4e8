"""`engine.publishing.Channel` on Kafka: a batch and its marker in one transaction.

Everything here runs on a thread of its own, since the client blocks; one call after the other.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Record
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from muster.bus.kafka_client import (
    BY_DEFAULT,
    NO_TOPIC,
    PRODUCER,
    PRODUCER_ALWAYS,
    TOO_LARGE,
    Config,
    error_of,
)
from muster.bus.kafka_markers import read_marker
from muster.engine.bus import BusAway
from muster.engine.publishing import Queued, Unpublishable
from muster.model.topics import MARKERS

T = TypeVar("T")

ASK_SECONDS = 10.0
# One call, and how long a call is repeated that may be.
CALL_SECONDS = 5.0
PATIENCE = 40.0
FULL_SECONDS = 0.05
# Not every broker has heard of a topic that was just made.
LOOKS = (0.1, 0.3, 0.6)
# A producer that is gone holds others up for so long at most, since nobody reads past its transaction.
TRANSACTION_MS = 10_000
# Nobody else's topic: what is in it counts for ever, and only the last of each stream. What is in the segment
# that is written to is never compacted, and who takes over reads back through it: so it is closed soon, where
# a hosted Kafka lets anybody say so.
COMPACTED = {"cleanup.policy": "compact"}
SOON_COMPACTED = {**COMPACTED, "segment.bytes": str(50 * 1024 * 1024), "segment.ms": str(10 * 60 * 1000)}
NOT_TO_BE_SAID = {KafkaError.INVALID_CONFIG, KafkaError.POLICY_VIOLATION, KafkaError.INVALID_REQUEST}

log = logging.getLogger("muster.kafka")


class KafkaChannels:
    """`engine.publishing.Channels`. `client` is what every client of Kafka's is set to, `markers` the topic
    that says up to where streams were published; `producer` is for those who send, where `client` does not
    say."""

    def __init__(self, client: Config, markers: str = MARKERS, producer: Config | None = None) -> None:
        self._client, self._markers, self._producer = client, markers, producer or {}
        self._known: set[str] = set()

    def open(self, name: str) -> "KafkaChannel":
        return KafkaChannel(self._client, name, self._known, self._markers, self._producer)


class KafkaChannel:
    """`known` are topics that are there, as far as anybody here knows."""

    def __init__(
        self,
        client: Config,
        name: str,
        known: set[str],
        markers: str = MARKERS,
        sending: Config | None = None,
    ) -> None:
        self._client, self._name, self._known, self._markers = client, name, known, markers
        self._sending: Config = {**PRODUCER, **(sending or {}), **client, **PRODUCER_ALWAYS}
        self._thread = ThreadPoolExecutor(1, "kafka-publisher")
        self._producer: Producer | None = None

    async def begin(self) -> int:
        return await self._run(self._begin)

    async def send(self, batch: Sequence[Queued]) -> None:
        await self._run(lambda: self._send(batch))

    async def close(self) -> None:
        """Whatever it was about to do, who comes next keeps it from doing so."""
        self._thread.submit(self._close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except KafkaException as error:
            found = error_of(error)
            raise BusAway(str(error) if found is None else found.str()) from error

    # --- on its thread ------------------------------------------------------------------------------

    def _begin(self) -> int:
        self._make_markers()
        self._producer = Producer({**self._sending, **_transactional(self._name)}, logger=log)
        # From here on nobody else's transaction of this name comes to anything.
        _persistently(self._producer.init_transactions)
        return read_marker(self._client, self._name, self._markers)

    def _send(self, batch: Sequence[Queued]) -> None:
        producer = self._producer
        assert producer is not None, "it has begun"
        wanted = [queued for queued in batch if not queued.refused]
        self._look_for_topics(wanted)
        reports, of_marker = Reports(), Reports()
        producer.begin_transaction()
        try:
            # First: the client asks for its partition and for those of the others together, then.
            _produce_marker(producer, self._markers, self._name, batch[-1].seq, of_marker)
            _produce(producer, wanted, reports)
            _commit(producer, reports)
        except Aborting as aborting:
            # An abort that overtakes the first message of its transaction makes the client useless
            # (librdkafka #4849), and the stream would have to be taken over anew.
            producer.flush(CALL_SECONDS)
            # Only once it is confirmed that nothing of it is there, it may be sent again.
            _persistently(producer.abort_transaction)
            self._known.clear()  # a topic may have gone
            # Where the marker is not taken, no message is to blame: all of them would be refused, one by one.
            if of_marker.refusal is not None or not aborting.is_refusal:
                raise BusAway(str(of_marker.refusal or aborting)) from aborting
            alone = len(wanted) == 1
            raise Unpublishable({wanted[0].seq: str(aborting)} if alone else {}) from aborting

    def _look_for_topics(self, wanted: Sequence[Queued]) -> None:
        """The client itself would look for half a minute. Raises `Unpublishable`."""
        for pause in (*LOOKS, None):
            missing = {queued.message.topic for queued in wanted} - self._known
            if not missing:
                return
            assert self._producer is not None, "it has begun"
            self._known |= set(self._producer.list_topics(timeout=ASK_SECONDS).topics)
            missing -= self._known
            if missing and pause is None:
                raise Unpublishable(
                    {
                        queued.seq: f"Kafka has no topic {queued.message.topic!r}"
                        for queued in wanted
                        if queued.message.topic in missing
                    }
                )
            if missing and pause is not None:
                time.sleep(pause)

    def _make_markers(self) -> None:
        if self._markers in self._known:
            return
        admin = AdminClient(dict(self._client), logger=log)
        if self._markers not in admin.list_topics(timeout=ASK_SECONDS).topics:
            refused = _make_topic(admin, self._markers, SOON_COMPACTED)
            if refused is not None and refused.code() in NOT_TO_BE_SAID:
                log.warning("%s is made without small segments: %s", self._markers, refused.str())
                refused = _make_topic(admin, self._markers, COMPACTED)
            if refused is not None:
                raise KafkaException(refused)
        self._known.add(self._markers)

    def _close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer = None


class Aborting(Exception):
    """The transaction cannot be committed, and has to be aborted. `is_refusal`: a message of it is to
    blame."""

    def __init__(self, error: KafkaError) -> None:
        super().__init__(error.str())
        self.is_refusal = error.code() in TOO_LARGE | NO_TOPIC


class Reports:
    """What became of messages, as the client tells it."""

    def __init__(self) -> None:
        self.refusal: KafkaError | None = None

    def __call__(self, error: KafkaError | None, record: Record) -> None:
        if error is not None:
            self.note(error)

    def note(self, error: KafkaError) -> None:
        if error.code() in TOO_LARGE | NO_TOPIC:
            self.refusal = self.refusal or error


def _make_topic(admin: AdminClient, name: str, config: dict[str, str]) -> KafkaError | None:
    """Why it is not there; None: it is."""
    new = NewTopic(name, 1, BY_DEFAULT, config=config)
    [made] = admin.create_topics([new], request_timeout=ASK_SECONDS).values()
    try:
        made.result()
    except KafkaException as error:
        found = error_of(error)
        if found is None:
            raise
        return None if found.code() == KafkaError.TOPIC_ALREADY_EXISTS else found
    return None


def _transactional(name: str) -> Config:
    return {
        "transactional.id": name,
        "transaction.timeout.ms": TRANSACTION_MS,
        # A message has no more time than its transaction.
        "delivery.timeout.ms": TRANSACTION_MS,
        # Nobody has to be told of each message: the commit says that all of them are there.
        "delivery.report.only.error": True,
    }


def _produce(producer: Producer, wanted: Sequence[Queued], reports: Reports) -> None:
    for queued in wanted:
        message = queued.message
        put = partial(
            producer.produce,
            message.topic,
            message.value,
            message.key,
            headers=list(message.headers),
            on_delivery=reports,
        )
        _put(producer, put, reports)


def _produce_marker(producer: Producer, markers: str, name: str, seq: int, reports: Reports) -> None:
    marker = str(seq).encode()
    _put(
        producer,
        lambda: producer.produce(markers, marker, name.encode(), partition=0, on_delivery=reports),
        reports,
    )


def _put(producer: Producer, produce: Callable[[], None], reports: Reports) -> None:
    """Raises `Aborting`: what the client has not taken would be missing from a commit that succeeds."""
    while True:
        try:
            produce()
        except BufferError:
            producer.poll(FULL_SECONDS)
        except KafkaException as error:
            found = error_of(error)
            if found is None or found.fatal():
                raise
            reports.note(found)
            raise Aborting(found) from error
        else:
            return


def _commit(producer: Producer, reports: Reports) -> None:
    """A commit whose answer is late is asked for again: it must not be aborted, since it may have happened.
    Raises `Aborting`."""
    try:
        _persistently(producer.commit_transaction)
    except KafkaException as error:
        found = error_of(error)
        if found is None or not found.txn_requires_abort():
            raise
        raise Aborting(reports.refusal or found) from error


def _persistently(call: Callable[[float], object]) -> None:
    """Only for calls that may be repeated until they are through: begin, commit and abort."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            call(CALL_SECONDS)
        except KafkaException as error:
            found = error_of(error)
            if found is None or not found.retriable() or time.monotonic() > until:
                raise
            log.warning("a transaction takes long: %s", found.str())
        else:
            return
