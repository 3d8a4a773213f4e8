"""Publishing to Kafka: every message's delivery report is waited for and looked at."""

import asyncio
import logging
import threading
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Record

from muster.bus.kafka_client import PRODUCER, PRODUCER_ALWAYS, Config, error_of, trouble
from muster.engine.bus import Outgoing, Place

FULL_PAUSE = 0.01
CLOSE_SECONDS = 10.0

log = logging.getLogger("muster.kafka")


class Deliveries:
    """The reports of messages that were sent together; they come on the client's thread."""

    def __init__(self, count: int, loop: asyncio.AbstractEventLoop) -> None:
        self._left, self._loop = count, loop
        self._lock = threading.Lock()
        self.done = asyncio.Event()
        self.places: list[tuple[Place, int] | None] = [None] * count
        self.errors: list[Exception] = []
        self.is_fatal = False

    def failed(self, error: KafkaException | KafkaError, topic: str) -> None:
        """A message was refused before it was sent."""
        found = error_of(error)
        self.is_fatal = self.is_fatal or (found is not None and found.fatal())
        self._report(trouble(error, topic))

    def report(self, index: int, topic: str, error: KafkaError | None, record: Record) -> None:
        if error is not None:
            self.failed(error, topic)
            return
        partition, offset = record.partition(), record.offset()
        assert partition is not None, "what was delivered has a partition"
        assert offset is not None, "and an offset"
        self.places[index] = (Place(topic, partition), offset)
        self._report(None)

    def _report(self, error: Exception | None) -> None:
        with self._lock:
            if error is not None:
                self.errors.append(error)
            self._left -= 1
            over = self._left == 0
        if over:
            self._loop.call_soon_threadsafe(self.done.set)


class KafkaProducer:
    """An idempotent producer: what is tried again is there once, and in its order. One that Kafka has given
    up on for good is replaced."""

    def __init__(self, client: Config) -> None:
        self._config = {**PRODUCER, **client, **PRODUCER_ALWAYS}
        self._producer: Producer | None = None
        self._thread: threading.Thread | None = None

    async def publish(self, messages: Sequence[Outgoing]) -> Sequence[tuple[Place, int]]:
        """Raises `BusAway`, `TooLarge`, `UnknownTopic`."""
        if not messages:
            return []
        producer = self._started()
        deliveries = Deliveries(len(messages), asyncio.get_running_loop())
        for index, message in enumerate(messages):
            await self._produce(producer, index, message, deliveries)
        await deliveries.done.wait()
        if deliveries.is_fatal and self._producer is producer:
            self._producer = None  # its thread ends with it
        if deliveries.errors:
            raise deliveries.errors[0]
        return [place for place in deliveries.places if place is not None]

    async def _produce(
        self, producer: Producer, index: int, message: Outgoing, deliveries: Deliveries
    ) -> None:
        def report(error: KafkaError | None, record: Record) -> None:
            deliveries.report(index, message.topic, error, record)

        while True:
            try:
                producer.produce(
                    message.topic,
                    message.value,
                    message.key,
                    headers=list(message.headers),
                    on_delivery=report,
                )
            except BufferError:
                await asyncio.sleep(FULL_PAUSE)
            except KafkaException as error:
                deliveries.failed(error, message.topic)
                return
            else:
                return

    def _started(self) -> Producer:
        if self._producer is None:
            self._producer = producer = Producer(dict(self._config), logger=log)
            self._thread = threading.Thread(target=self._serve, args=(producer,), name="kafka-producer")
            self._thread.daemon = True
            self._thread.start()
        return self._producer

    def _serve(self, producer: Producer) -> None:
        """Reports are given on this thread, for as long as the producer is in use."""
        while self._producer is producer or len(producer):
            producer.poll(0.1)

    async def close(self) -> None:
        """Wait for what is under way, for a while."""
        producer, self._producer = self._producer, None
        if producer is not None and self._thread is not None:
            await asyncio.to_thread(self._thread.join, CLOSE_SECONDS)
