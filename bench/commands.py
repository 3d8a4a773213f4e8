"""Commands through the outbox to Kafka, beside a bare transactional producer in the same run.

    python bench/commands.py [--rate 200] [--seconds 10] [--rounds 3] [--messages 20000]

Each is a row of its own that is open until the bus has its message, and then `SENT`, as nodes write them.
Latency is from when a command's rows are committed to when the Kafka transaction that holds its message is.
The bare producer is handed the message then, and so might send what a crash forgets, or forget what it has
sent; both take what waits into one transaction, and rows are committed together that come together, as the
engine does it. Rounds alternate, with some of the bare producer without any rows. The sustained rate is of
commands that lie ready, in transactions of 500, until the last is on the bus; when the last is `SENT` is told
besides. What the process spends on a message is told besides, since
a machine that is shared tells more by that. PostgreSQL is at TEST_POSTGRES_URL and Kafka at
TEST_KAFKA_BOOTSTRAP, or those that `scripts/services.py` starts.
"""

import argparse
import asyncio
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import uvloop
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Connection

from muster.bus.kafka_client import PRODUCER, PRODUCER_ALWAYS
from muster.bus.kafka_transactions import KafkaChannels
from muster.engine.bus import Headers
from muster.engine.commands import REFERENCE, CommandOpening
from muster.engine.outbox import OutgoingMessage, Stream
from muster.engine.publishing import Queued
from muster.engine.stream_publisher import StreamPublisher
from muster.kit.loop import Loop
from muster.nodes.commanding import Outbound
from muster.store.command_sending import CommandSenders
from muster.store.commands import open_commands
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.outbox import add_messages
from muster.store.outbox_streams import Lessee, OutboxStreamRepository
from muster.store.tables import workflow_execution
from support.engine import postgres_database, save_workflow
from waits import started

BATCH = 500
VALUE = b"x" * 300
EXECUTION = "execution"
# As long as those that commands have.
HEADERS: Headers = (
    ("X-Correlation-ID", b"0198f0c4-8a57-7b52-9c63-2f2f1f0b7a11"),
    ("X-Workflow-Instance-ID", b"0198f0c4-8a57-7b52-9c63-2f2f1f0b7a12"),
    ("X-Step-ID", b"trigger-batch-export"),
    ("X-Reply-Topic", b"export-replies"),
    ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ("X-Timestamp", b"2026-03-01T12:00:00.000000+00:00"),
)


class Published:
    """`PublishingObserver`: when each message was published, by its key."""

    def __init__(self) -> None:
        self.at: dict[bytes, float] = {}
        self.count, self.wanted, self.done = 0, 0, asyncio.Event()

    def published(self, stream: Stream, batch: Sequence[Queued]) -> None:
        now = time.perf_counter()
        self.at |= {queued.message.key or b"": now for queued in batch}
        self.count += len(batch)
        if self.count >= self.wanted:
            self.done.set()

    def refused(self, stream: Stream, reasons: Mapping[int, str]) -> None:
        raise AssertionError(reasons)

    def took_over(self, stream: Stream) -> None:
        return

    async def until(self, count: int) -> None:
        self.wanted = count
        if self.count < count:
            self.done.clear()
            await self.done.wait()


def command(topic: str, key: bytes, stream: Stream = Stream.EXECUTIONS) -> Outbound:
    """A command, as a node makes it."""
    identity = str(uuid.uuid4())
    opening = CommandOpening(
        id=identity,
        node="trigger-batch-export",
        visit=1,
        attempt=1,
        correlation_id=identity,
        workflow_id="workflow",
        institute_id="",
        command_topic=topic,
        reply_topic="export-replies",
        payload={"type": "EXPORT_DATA", "payload": {"format": "CSV"}},
        headers={name: value.decode() for name, value in HEADERS},
        timeout=timedelta(minutes=5),
        created_at=datetime.now(UTC),
    )
    reference = f"{REFERENCE}{identity}"
    return Outbound(opening, OutgoingMessage(identity, topic, VALUE, key, HEADERS, reference, stream=stream))


def write_all(connection: Connection, commands: Sequence[Outbound]) -> None:
    open_commands(connection, [(EXECUTION, each.opening) for each in commands])
    add_messages(connection, [each.message for each in commands])


async def make_execution(database: Database) -> None:
    """Whose commands they are."""
    at = datetime.now(UTC)
    made = {"workflow_id": "bench", "workflow_version_id": 1, "status": "WAITING", "fence": 1}
    row = {"id": EXECUTION, **made, "given": {}, "context": {}, "started_at": at, "updated_at": at}
    await database.write(lambda connection: connection.execute(workflow_execution.insert().values(row)))


class Rows:
    """Commands as they are written: those that come while others are committed, together."""

    def __init__(self, database: Database, topic: str, stream: Stream) -> None:
        self._database, self._topic, self._stream = database, topic, stream
        self._coming: list[tuple[Outbound, asyncio.Future[float]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, key: bytes) -> float:
        """When it was durable."""
        message = command(self._topic, key, self._stream)
        written: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._coming.append((message, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await written

    async def _write(self) -> None:
        while self._coming:
            some, self._coming = self._coming, []
            messages = [message for message, _ in some]
            await self._database.write(partial(write_all, commands=messages))
            at = time.perf_counter()
            for _, written in some:
                written.set_result(at)
        self._writing = None


class Sent:
    """Hears how many commands are `SENT`."""

    def __init__(self) -> None:
        self.count = 0

    def sent(self, topics: Mapping[str, int]) -> None:
        self.count += sum(topics.values())

    def buried(self, topics: Mapping[str, int]) -> None:
        raise AssertionError(topics)


class Outbox:
    """Commands by way of the outbox."""

    def __init__(self, database: Database, client: dict[str, str], topic: str) -> None:
        self._database, self._topic, self.published = database, topic, Published()
        self._rows = Rows(database, topic, Stream.EXECUTIONS)
        lessee = Lessee(f"bench/{uuid.uuid4()}", "bench/", timedelta(seconds=30))
        self.sent = Sent()
        streams = OutboxStreamRepository(database, lessee, CommandSenders(self.sent))
        channels = KafkaChannels(client)
        self._publisher = StreamPublisher(Stream.EXECUTIONS, streams, channels, self.published, BATCH)
        self._loop = Loop("outbox", self._publisher.work)

    def wake(self) -> None:
        self._publisher.wake()
        self._loop.wake()

    async def run(self) -> None:
        await self._loop.run()

    async def send(self, key: bytes) -> float:
        """Write one; when it was durable."""
        at = await self._rows.write(key)
        self.wake()
        return at

    async def lay_ready(self, count: int) -> None:
        """All in one transaction, so that nothing of it is published before the rest is there."""
        commands = [command(self._topic, str(place).encode()) for place in range(count)]
        await self._database.write(partial(write_all, commands=commands))


class Bare:
    """The same client, with nothing around it."""

    def __init__(self, database: Database, client: dict[str, str], topic: str) -> None:
        # Of a stream that nobody publishes here.
        self._rows = Rows(database, topic, Stream.WATCH)
        name = {"transactional.id": uuid.uuid4().hex, "transaction.timeout.ms": 10_000}
        timeout = {"delivery.timeout.ms": 10_000}
        self._producer = Producer({**PRODUCER, **client, **PRODUCER_ALWAYS, **name, **timeout})
        self._producer.init_transactions(30)
        self._topic, self._thread = topic, ThreadPoolExecutor(1)
        self._waiting: list[bytes] = []
        self._stirred = asyncio.Event()
        self.at: dict[bytes, float] = {}

    async def send(self, key: bytes) -> float:
        self._waiting.append(key)
        self._stirred.set()
        return time.perf_counter()

    async def write_and_send(self, key: bytes) -> float:
        at = await self._rows.write(key)
        await self.send(key)
        return at

    async def run(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            while self._waiting:
                keys, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                await asyncio.get_running_loop().run_in_executor(self._thread, self.transaction, keys)
                now = time.perf_counter()
                self.at |= dict.fromkeys(keys, now)

    def transaction(self, keys: Sequence[bytes]) -> None:
        self._producer.begin_transaction()
        for key in keys:
            self._producer.produce(self._topic, VALUE, key, headers=list(HEADERS))
        self._producer.commit_transaction(30)


async def steadily(
    rate: int, seconds: float, send: Callable[[bytes], Awaitable[float]]
) -> dict[bytes, float]:
    """Send at a rate, without waiting for each other; when each was sent, by its key."""
    began, sending = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
        key = uuid.uuid4().hex.encode()
        sending.append((key, asyncio.ensure_future(send(key))))
    return {key: await task for key, task in sending}


async def all_in(sent: dict[bytes, float], published: dict[bytes, float]) -> None:
    while not sent.keys() <= published.keys():  # noqa: ASYNC110  # who tells would be in what is measured
        await asyncio.sleep(0.01)


def told(name: str, latencies: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(latencies)
    p50, p99 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    print(f"{name:8} p50 {p50 * 1000:7.1f} ms   p99 {p99 * 1000:7.1f} ms")
    return p50, p99


async def latency(outbox: Outbox, bare: Bare, rate: int, seconds: float, rounds: int) -> None:
    ways = {
        "no rows": (bare.send, bare.at),
        "bare": (bare.write_and_send, bare.at),
        "outbox": (outbox.send, outbox.published.at),
    }
    latencies: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (send, published) in ways.items():
            sent = await steadily(rate, seconds / rounds, send)
            await all_in(sent, published)
            latencies[name] += (published[key] - at for key, at in sent.items())
    print(f"\n{rate} commands a second, {rounds} rounds of each")
    found = {name: told(name, latencies[name]) for name in ways}
    for name in ("no rows", "bare"):
        (our_50, our_99), (bare_50, bare_99) = found["outbox"], found[name]
        print(f"outbox to {name:8} p50 {our_50 / bare_50:7.2f}   p99 {our_99 / bare_99:7.2f}")


async def through_outbox(outbox: Outbox, messages: int) -> tuple[float, float, float]:
    """How long that many take that lie ready, until they are on the bus and until they are `SENT`; and what
    this process spends on them."""
    begun, marked = outbox.published.count, outbox.sent.count
    await outbox.lay_ready(messages)
    began, spent = time.perf_counter(), time.process_time()
    outbox.wake()
    await outbox.published.until(begun + messages)
    took = time.perf_counter() - began
    while outbox.sent.count < marked + messages:  # noqa: ASYNC110  # who tells would be in what is measured
        await asyncio.sleep(0.002)
    return took, time.perf_counter() - began, time.process_time() - spent


async def straight(bare: Bare, messages: int) -> tuple[float, float, float]:
    keys = [str(place).encode() for place in range(messages)]
    began, spent = time.perf_counter(), time.process_time()
    for first in range(0, messages, BATCH):
        await asyncio.to_thread(bare.transaction, keys[first : first + BATCH])
    took = time.perf_counter() - began
    return took, took, time.process_time() - spent


async def sustained(outbox: Outbox, bare: Bare, messages: int, rounds: int) -> None:
    ours, theirs = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for _ in range(rounds):
        for total, found in (
            (theirs, await straight(bare, messages)),
            (ours, await through_outbox(outbox, messages)),
        ):
            total[:] = [before + each / rounds for before, each in zip(total, found, strict=True)]
    print(f"\n{messages} commands that lie ready, {BATCH} a transaction, {rounds} rounds of each")
    for name, (took, marked, cpu) in (("bare", theirs), ("outbox", ours)):
        each = f"{cpu / messages * 1e6:6.1f} µs of this process each"
        print(f"{name:8} {messages / took:8.0f}/s   {each}   {messages / marked:8.0f}/s until they are SENT")
    print(f"ratio    {theirs[0] / ours[0]:8.2f}")


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--messages", type=int, default=20_000)
    given = parser.parse_args()
    brokers = os.environ.get("TEST_KAFKA_BOOTSTRAP") or started("kafka", "TEST_KAFKA_BOOTSTRAP")
    client = {"bootstrap.servers": brokers}
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(dict(client))
    [made] = admin.create_topics([NewTopic(topic, 4, 1)]).values()
    made.result()
    async with postgres_database() as url:
        database = open_database(url)
        await migrate(database)
        await database.write(save_workflow)
        await make_execution(database)
        outbox, bare = Outbox(database, client, topic), Bare(database, client, topic)
        running = [asyncio.create_task(outbox.run()), asyncio.create_task(bare.run())]
        for key in (b"warm", b"up"):
            await asyncio.gather(outbox.send(key), bare.send(key))
        await outbox.published.until(2)
        await latency(outbox, bare, given.rate, given.seconds, given.rounds)
        await sustained(outbox, bare, given.messages, given.rounds)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await database.close()


if __name__ == "__main__":
    uvloop.run(main())
