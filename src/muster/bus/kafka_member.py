"""One member of a consumer group on Kafka. Its client blocks, so it has a thread of its own, and only that
thread touches it; what comes and goes by rebalancing is told there too."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Record

from muster.bus.kafka_client import CONSUMER, CONSUMER_ALWAYS, NO_TOPIC, Config, message_of, trouble
from muster.engine.bus import BusAway, Message, Place, Reach

T = TypeVar("T")

# So long at most does anybody wait for the client: to leave, say.
LOOK_SECONDS = 0.1
ASK_SECONDS = 5.0
LEAVE_SECONDS = 10.0
GIVE_BACK_SECONDS = 0.02

log = logging.getLogger("muster.kafka")


class KafkaMember:
    """`engine.bus.Member` on Kafka."""

    def __init__(self, client: Config, group: str) -> None:
        self._config = {**CONSUMER, **client, **CONSUMER_ALWAYS, "group.id": group}
        self._group = group
        self._thread = ThreadPoolExecutor(1, "kafka-consumer")
        self._consumer: Consumer | None = None
        self._topics: list[str] = []
        # Where what was fetched ends; and where a partition ends, if nothing of it is left to fetch.
        self._fetched: dict[Place, int] = {}
        self._reached: dict[Place, int] = {}
        self._ends: dict[Place, int] = {}
        self._begins: dict[Place, int] = {}
        self._kept: list[Record] = []
        # What was given back, and of that what came again, while the client was asked.
        self._gone: set[Place] = set()
        self._back: set[Place] = set()
        self._paused = False
        self._missing: set[str] = set()
        self._refused: set[Place] = set()

    @property
    def group(self) -> str:
        return self._group

    async def subscribe(self, topics: Collection[str]) -> None:
        self._topics = sorted(topics)
        await self._run(self._subscribe)

    async def fetch(self, most: int, patience: float) -> Sequence[Message]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        while True:
            messages = await self._run(lambda: self._take(most))
            if messages or loop.time() >= deadline:
                return messages

    async def hold(self) -> None:
        await self._run(self._stay)

    def owns(self, place: Place) -> bool:
        return place in self._fetched

    async def record(self, ends: Mapping[Place, int]) -> None:
        await self._run(lambda: self._commit(ends))

    async def lag(self) -> Mapping[Place, int]:
        return await self._run(self._lag)

    async def reach(self) -> Mapping[Place, Reach] | None:
        return await self._run(self._reach)

    async def leave(self) -> None:
        await self._run(self._close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except KafkaException as error:
            raise trouble(error) from error

    # --- on the client's thread ------------------------------------------------------------------------

    def _subscribe(self) -> None:
        if self._consumer is None:
            self._consumer = Consumer({**self._config, "on_commit": self._noted}, logger=log)
        if not self._topics:
            self._consumer.unsubscribe()
            return
        self._consumer.subscribe(
            self._topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def _take(self, most: int) -> Sequence[Message]:
        consumer = self._resumed()
        self._commit_again(consumer)
        records, self._kept = self._kept, []
        if not records:
            records = self._come(consumer, most, LOOK_SECONDS)
        messages = [message_of(record) for record in records if self._is_good(record)]
        self._commit_ends(consumer)
        return messages

    def _resumed(self) -> Consumer:
        if self._consumer is None:
            self._subscribe()
        consumer = self._consumer
        assert consumer is not None, "it was just made"
        if self._paused:
            consumer.resume(consumer.assignment())
            self._paused = False
        return consumer

    def _stay(self) -> None:
        """Rebalance with the others, and take nothing: what comes nevertheless is for the next fetch."""
        consumer = self._consumer
        if consumer is None:
            return
        consumer.pause(consumer.assignment())
        self._paused = True
        self._kept += self._come(consumer, 1_000, 0)

    def _come(self, consumer: Consumer, most: int, seconds: float) -> list[Record]:
        """What has come, once there is one, without what is another's since: partitions are given back while
        the client is asked. What was given back before the first came says nothing of it: it is from a
        partition that came again."""
        first = consumer.poll(seconds)
        if first is None:
            return []
        self._gone.clear()
        self._back.clear()
        records = [first, *consumer.consume(most - 1, 0)]  # this does not wait
        if self._back:
            # Which are from before and which from after cannot be told. A new client has all of it again.
            self._close()
            return []
        return [each for each in records if _place(each) not in self._gone] if self._gone else records

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._back |= {Place(each.topic, each.partition) for each in partitions} & self._gone

    def _is_good(self, record: Record) -> bool:
        error, place = record.error(), _place(record)
        if error is None:
            self._fetched[place] = (record.offset() or 0) + 1
            self._reached.pop(place, None)
            return True
        if error.code() == KafkaError._PARTITION_EOF:
            self._reached[place] = record.offset() or 0
            return False
        if error.fatal():
            self._forget_client()
            raise BusAway(error.str())
        topic = record.topic() or ""
        if error.code() not in NO_TOPIC:
            log.warning("kafka: %s", error.str())
        elif topic not in self._missing:
            self._missing.add(topic)
            log.warning("the topic %r cannot be read yet: %s", topic, error.str())
        return False

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        places = [Place(each.topic, each.partition) for each in partitions]
        done = [_offset(place, self._ends[place]) for place in places if place in self._ends]
        try:
            if done:
                # Before it is another's: what was dealt with does not come again.
                consumer.commit(offsets=done, asynchronous=False)
        except KafkaException as error:
            log.info("positions could not be recorded on leaving, so messages may come again: %s", error)
        self._lost(consumer, partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # The client remembers what is paused: it would come back so, and nobody would let it go on.
        consumer.resume(partitions)
        places = {Place(each.topic, each.partition) for each in partitions}
        self._gone |= places
        self._kept = [each for each in self._kept if _place(each) not in places]
        for place in places:
            for kept in (self._fetched, self._reached, self._ends, self._begins):
                kept.pop(place, None)

    def _commit(self, ends: Mapping[Place, int]) -> None:
        mine = {place: end for place, end in ends.items() if place in self._fetched}
        if mine and self._consumer is not None:
            self._ends |= mine
            self._ends |= self._past_markers()
            offsets = [_offset(place, self._ends[place]) for place in mine]
            self._consumer.commit(offsets=offsets, asynchronous=True)

    def _past_markers(self) -> dict[Place, int]:
        """Where partitions end of which all has been dealt with: after their last message there are the
        markers of its transaction, and who is there has read all there is."""
        return {
            place: end
            for place, end in self._reached.items()
            if self._ends.get(place, 0) >= self._fetched.get(place, 0) and self._ends.get(place, -1) < end
        }

    def _commit_ends(self, consumer: Consumer) -> None:
        if past := self._past_markers():
            self._ends |= past
            consumer.commit(offsets=[_offset(*each) for each in past.items()], asynchronous=True)

    def _noted(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """What became of positions that were to be recorded. While partitions are given out anew, none is."""
        self._refused |= {
            Place(each.topic, each.partition) for each in partitions if (error or each.error) is not None
        }

    def _commit_again(self, consumer: Consumer) -> None:
        """Where no further message comes, nothing else would record how far this member is."""
        refused, self._refused = self._refused, set()
        if again := [_offset(place, self._ends[place]) for place in sorted(refused) if place in self._ends]:
            consumer.commit(offsets=again, asynchronous=True)

    def _lag(self) -> Mapping[Place, int]:
        consumer = self._consumer
        if consumer is None:
            return {}
        assigned = [Place(each.topic, each.partition) for each in consumer.assignment()]
        self._look_for_begins(consumer, [each for each in assigned if each not in self._begins])
        found: dict[Place, int] = {}
        for place in assigned:
            # What nobody fetches from is not told of new messages: it has to be asked about.
            marks = consumer.get_watermark_offsets(
                _offset(place), timeout=ASK_SECONDS, cached=not self._paused
            )
            if marks[1] < 0:
                continue
            at = self._ends.get(place, max(self._begins.get(place, 0), marks[0], 0))
            found[place] = max(0, marks[1] - at)
        return found

    def _reach(self) -> Mapping[Place, Reach] | None:
        consumer = self._consumer
        if consumer is None or not self._topics:
            return None
        found: dict[Place, Reach] = {}
        for topic in self._topics:
            known = consumer.list_topics(topic, timeout=ASK_SECONDS).topics.get(topic)
            if known is None or known.error is not None:
                return None
            asked = [TopicPartition(topic, partition) for partition in known.partitions]
            for each in consumer.committed(asked, timeout=ASK_SECONDS):
                ends = consumer.get_watermark_offsets(each, timeout=ASK_SECONDS, cached=False)
                if each.error is not None or ends is None:
                    return None
                found[Place(topic, each.partition)] = Reach(max(each.offset, ends[0]), ends[1])
        return found

    def _look_for_begins(self, consumer: Consumer, places: Sequence[Place]) -> None:
        """Where the group is in partitions that have come: what was recorded by whoever had them."""
        if places:
            for each in consumer.committed([_offset(place) for place in places], timeout=ASK_SECONDS):
                self._begins[Place(each.topic, each.partition)] = each.offset

    def _close(self) -> None:
        if self._consumer is not None:
            self._give_back(self._consumer)
            self._consumer.close()
        self._forget_client()

    def _give_back(self, consumer: Consumer) -> None:
        """Give its partitions back, which records what was dealt with. Closing would do so too; but where the
        client asks us from there what to do with them, it may wait for an answer of its own for ever."""
        consumer.unsubscribe()
        until = time.monotonic() + LEAVE_SECONDS
        while consumer.assignment() and time.monotonic() < until:
            consumer.poll(GIVE_BACK_SECONDS)  # what comes is for whoever is next: it is not recorded

    def _forget_client(self) -> None:
        self._consumer = None
        self._fetched.clear()
        self._reached.clear()
        self._ends.clear()
        self._begins.clear()
        self._kept.clear()
        self._refused.clear()


def _offset(place: Place, offset: int | None = None) -> TopicPartition:
    if offset is None:
        return TopicPartition(place.topic, place.partition)
    return TopicPartition(place.topic, place.partition, offset)


def _place(record: Record) -> Place:
    return Place(record.topic() or "", record.partition() or 0)
