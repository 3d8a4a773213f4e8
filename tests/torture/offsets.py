"""How far a group of consumers is, beside what the database has: never further."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Connection, select

from muster.engine.bus import Place
from muster.store.database import Database, Unavailable
from muster.store.tables import dead_letter, execution_wait_states, near_miss
from torture.answering import Answer, Answering, By

ASK_SECONDS = 10.0
MOST_LOOKS = 200
W, D, N = execution_wait_states.c, dead_letter.c, near_miss.c
SILENT = {"log_level": 0}  # that brokers go away is what is meant to happen
STRATEGY = {"partition.assignment.strategy": "cooperative-sticky", "session.timeout.ms": 6_000}


async def make_topic(brokers: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": brokers, **SILENT})
    made = admin.create_topics([NewTopic(topic, partitions, 1)])
    await asyncio.to_thread(made[topic].result)


class Offsets:
    """What the group has committed, looked at again and again. A message before that place has left its mark
    in the database, whatever it was: an event that was received, a near miss, or a dead letter."""

    def __init__(
        self, brokers: str, group: str, topic: str, partitions: int, database: Database, sent: Answering
    ) -> None:
        self._asking = Consumer({"bootstrap.servers": brokers, "group.id": group, **SILENT})
        self._places = [TopicPartition(topic, each) for each in range(partitions)]
        self._database, self._sent = database, sent
        self._seen: set[tuple[Place, int]] = set()
        self.ahead: list[str] = []

    async def keep(self) -> None:
        """Until cancelled."""
        while True:
            with suppress(Unavailable, KafkaException):
                await self.look()
            await asyncio.sleep(0.7)

    async def look(self) -> None:
        # In this order: what is committed now has to be in the database already.
        positions = await asyncio.to_thread(self._committed)
        done = {
            place: answer
            for place, answer in self._sent.published.items()
            if place[1] < positions[place[0].partition] and place not in self._seen
        }
        if done:
            marks = await self._database.read(lambda connection: _marks(connection, done))
            self.ahead += [
                f"{place} {answer}" for place, answer in done.items() if answer.number not in marks
            ]
            self._seen |= done.keys()

    async def behind(self) -> list[str]:
        """What the group has not dealt with in the end, given time: places where more messages are, and
        messages of which nobody knows whether they were."""
        found: list[str] = ["nothing could be asked"]
        for _ in range(MOST_LOOKS):
            with suppress(Unavailable, KafkaException):
                positions, ends = await asyncio.to_thread(lambda: (self._committed(), self._ends()))
                await self.look()
                left = {
                    each: answer for each, answer in self._sent.published.items() if each not in self._seen
                }
                marks = await self._database.read(partial(_marks, done=left))
                pairs = enumerate(zip(positions, ends, strict=True))
                found = [f"{place}: {at} of {end}" for place, (at, end) in pairs if at != end]
                found += [
                    f"{each} {'dealt with' if answer.number in marks else 'not dealt with'}"
                    for each, answer in left.items()
                ]
            if not found:
                break
            await asyncio.sleep(0.5)
        return found

    def _committed(self) -> list[int]:
        found = self._asking.committed(self._places, timeout=ASK_SECONDS)
        return [max(place.offset, 0) for place in found]

    def _ends(self) -> list[int]:
        marks = [self._asking.get_watermark_offsets(place, timeout=ASK_SECONDS) for place in self._places]
        return [high for _, high in marks]

    def close(self) -> None:
        self._asking.close()


def _marks(connection: Connection, done: dict[tuple[Place, int], Answer]) -> set[int]:
    """The numbers of those that have left a mark."""
    names = [f"{place.topic}/{place.partition}/{offset}" for place, offset in done]
    letters = set(connection.scalars(select(D.key).where(D.key.in_(names))))
    found = {
        answer.number
        for (place, offset), answer in done.items()
        if f"{place.topic}/{place.partition}/{offset}" in letters
    }
    executions = sorted({answer.ids[0] for answer in done.values()})
    received = select(W.execution_id, W.correlation_id, W.received_events)
    has = {
        (row.execution_id, row.correlation_id): row.received_events
        for row in connection.execute(received.where(W.execution_id.in_(executions)))
    }
    found |= {answer.number for answer in done.values() if By.MESSAGE in has.get(answer.ids, ())}
    misses = connection.scalars(select(N.payload).where(N.execution_id.in_(executions)))
    return found | {int(payload["number"]) for payload in misses}


class Guest:
    """Somebody who joins the group, does nothing, and leaves, again and again. `given` is how many times the
    partitions were given out anew when it came; when it leaves they are once more, which nobody counts."""

    def __init__(self, brokers: str, group: str, topic: str) -> None:
        # Without a position of its own: what it was given is somebody else's to do.
        config = {"bootstrap.servers": brokers, "group.id": group, "enable.auto.commit": False}
        self._config = {**config, "auto.offset.reset": "earliest", **STRATEGY, **SILENT}
        self._topic = topic
        self._is_over = False
        self.given = 0

    async def come_and_go(self, times: int) -> None:
        """So many times, or until it is over."""
        while self.given < times and not self._is_over:
            with suppress(KafkaException):
                await asyncio.to_thread(self._join_and_leave)
            await asyncio.sleep(0.2)

    async def has_come(self, times: int) -> None:
        """Once it has, so many times, however long that takes."""
        while True:
            if self.given >= times:
                break
            await asyncio.sleep(0.05)

    def stay_away(self) -> None:
        self._is_over = True

    def _join_and_leave(self) -> None:
        guest, before = Consumer(self._config), self.given
        guest.subscribe([self._topic], on_assign=self._assigned)
        for _ in range(60):
            guest.poll(0.5)
            if self.given > before or self._is_over:
                break
        guest.close()

    def _assigned(self, _: object, places: Sequence[TopicPartition]) -> None:
        self.given += 1
