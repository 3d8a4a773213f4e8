"""`engine.bus.Bus` on Kafka."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from muster.bus.kafka_client import BY_DEFAULT, Config, error_of
from muster.bus.kafka_member import KafkaMember
from muster.bus.kafka_producer import KafkaProducer
from muster.engine.bus import BadClient, BusAway, Outgoing, Place, UnknownTopic

T = TypeVar("T")

ASK_SECONDS = 10.0
CHECK_SECONDS = 3.0  # whoever asks for health does not wait long
LOOKS = (0.1, 0.3, 0.6)

log = logging.getLogger("muster.kafka")


class KafkaBus:
    """`client` is what every client of Kafka's is set to: where the brokers are, and who one is to them.
    Raises `BadClient`."""

    def __init__(self, client: Config) -> None:
        self._client = client
        self._producer = KafkaProducer(client)
        self._asking = ThreadPoolExecutor(1, "kafka-admin")
        self._admin = _opened(client)
        self._known: set[str] = set()

    async def publish(self, messages: Sequence[Outgoing]) -> Sequence[tuple[Place, int]]:
        await self._check_known({message.topic for message in messages})
        try:
            return await self._producer.publish(messages)
        except UnknownTopic:
            self._known.clear()  # one may have gone
            raise

    async def _check_known(self, topics: Collection[str]) -> None:
        """Not every broker has heard of a topic that was just made, so it is asked for several times; the
        client itself would do so for half a minute."""
        for pause in (*LOOKS, None):
            if set(topics) <= self._known:
                return
            self._known = await self._ask(self._topics)
            missing = sorted(set(topics) - self._known)
            if missing and pause is None:
                raise UnknownTopic(f"Kafka has no topic {missing[0]!r}")
            if missing and pause is not None:
                await asyncio.sleep(pause)

    def member(self, group: str) -> KafkaMember:
        return KafkaMember(self._client, group)

    async def make(self, topics: Collection[str]) -> None:
        if topics:
            await self._ask(lambda: self._make(sorted(topics)))

    async def check(self) -> None:
        await self._ask(lambda: self._topics(CHECK_SECONDS))

    async def close(self) -> None:
        await self._producer.close()
        self._asking.shutdown(wait=False)

    async def _ask(self, question: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._asking, question)
        except KafkaException as error:
            found = error_of(error)
            raise BusAway(str(error) if found is None else found.str()) from error

    # --- on a thread of its own: the client blocks -----------------------------------------------------

    def _topics(self, seconds: float = ASK_SECONDS) -> set[str]:
        return set(self._admin.list_topics(timeout=seconds).topics)

    def _make(self, topics: Sequence[str]) -> None:
        new = [NewTopic(topic, BY_DEFAULT, BY_DEFAULT) for topic in topics]
        made = self._admin.create_topics(new, request_timeout=ASK_SECONDS)
        for topic, future in made.items():
            try:
                future.result()
            except KafkaException as error:
                found = error_of(error)
                if found is None or found.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            else:
                log.info("made the topic %s", topic)
        self._known |= set(topics)


def _opened(client: Config) -> AdminClient:
    try:
        return AdminClient(dict(client), logger=log)
    except (KafkaException, TypeError, ValueError) as error:
        found = error_of(error) if isinstance(error, KafkaException) else None
        told = str(error) if found is None else found.str()
        for value in client.values():
            told = told.replace(str(value), "***") if value else told
        raise BadClient(told) from None
