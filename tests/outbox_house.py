"""An outbox with publishers on it, for tests that say what every one of them promises.

`Log` is a bus in memory that does what Kafka does of it: transactions, producers that fence earlier ones of
their name, and a marker that is committed with the messages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import uuid4

from sqlalchemy import Connection, select, update

from muster.engine.bus import BusAway
from muster.engine.outbox import OutgoingMessage, Stream
from muster.engine.publishing import (
    Channel,
    Channels,
    Held,
    OutboxStreams,
    Queued,
    Standing,
    Unpublishable,
)
from muster.engine.stream_publisher import StreamPublisher
from muster.store.database import Database
from muster.store.outbox import add_messages
from muster.store.outbox_lists import OutboxLists
from muster.store.outbox_streams import Lessee, OutboxStreamRepository, Tell
from muster.store.tables import outbox_message, outbox_stream

# Longer than any test: who is to lose a lease has it moved.
LEASE = timedelta(hours=1)
TOPIC = "orders"


@dataclass
class Log:
    """What is committed, in its order, and the markers."""

    values: list[bytes | None] = field(default_factory=list)
    markers: dict[str, int] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    largest: int = 1000

    def open(self, name: str) -> "LogChannel":
        return LogChannel(self, name)


class LogChannel:
    def __init__(self, log: Log, name: str) -> None:
        self._log, self._name, self._epoch = log, name, 0

    async def begin(self) -> int:
        self._epoch = self._log.epochs[self._name] = self._log.epochs.get(self._name, 0) + 1
        await asyncio.sleep(0)
        return self._log.markers.get(self._name, 0)

    async def send(self, batch: Sequence[Queued]) -> None:
        await asyncio.sleep(0)
        if self._log.epochs[self._name] != self._epoch:
            raise BusAway("fenced")
        values = [queued.message.value for queued in batch if not queued.refused]
        if any(len(value or b"") > self._log.largest for value in values):
            raise Unpublishable({batch[0].seq: "too large"} if len(values) == 1 == len(batch) else {})
        self._log.values += values
        self._log.markers[self._name] = batch[-1].seq

    async def close(self) -> None:
        return


class Heard:
    """A `PublishingObserver` and the `Senders` of a test: remembers what it was told."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.reasons: dict[int, str] = {}
        self.takeovers = 0

    def published(self, stream: Stream, batch: Sequence[Queued]) -> None:
        self.batches.append([queued.seq for queued in batch])

    def refused(self, stream: Stream, reasons: Mapping[int, str]) -> None:
        self.reasons |= reasons

    def took_over(self, stream: Stream) -> None:
        self.takeovers += 1


class TellingSenders:
    """Writes what it is told into a list."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.given_up: dict[str, str] = {}

    def published(self, connection: Connection, references: Sequence[str], at: datetime) -> Tell:
        return lambda: self.sent.extend(references)

    def refused(self, connection: Connection, reasons: Mapping[str, str], at: datetime) -> None:
        self.given_up |= reasons


class OutboxHouse:
    """An outbox whose publishers share a bus."""

    def __init__(self, database: Database, channels: Channels) -> None:
        self.database, self.channels = database, channels
        self.heard, self.senders = Heard(), TellingSenders()
        self._written = 0

    async def write(self, count: int, topic: str = TOPIC) -> None:
        """So many messages, numbered through, each in a transaction of its own."""
        for number in range(self._written, self._written + count):
            await self.write_value(str(number).encode(), topic)
        self._written += count

    async def write_value(self, value: bytes, topic: str = TOPIC) -> None:
        message = OutgoingMessage(uuid4().hex, topic, value, reference=f"r{value[:20].decode()}")
        await self.database.write(lambda connection: add_messages(connection, [message]))

    def expected(self) -> list[bytes]:
        return [str(number).encode() for number in range(self._written)]

    def streams(self, name: str = "a") -> OutboxStreamRepository:
        lessee = Lessee(f"{name}/{uuid4()}", f"{name}/", LEASE)
        return OutboxStreamRepository(self.database, lessee, self.senders)

    def publisher(
        self,
        name: str = "a",
        streams: OutboxStreams | None = None,
        channels: Channels | None = None,
        batch_size: int = 100,
        linger: float = 0.0,
    ) -> StreamPublisher:
        return StreamPublisher(
            Stream.EXECUTIONS,
            streams or self.streams(name),
            channels or self.channels,
            self.heard,
            batch_size,
            linger,
        )

    async def empty(self) -> None:
        """As if nothing had ever been written."""
        for table in (outbox_message, outbox_stream):
            await self.database.write(lambda connection, table=table: connection.execute(table.delete()))

    async def end_lease(self) -> None:
        """As if whoever has the stream had not been heard of for as long as a lease."""
        ended = update(outbox_stream).values(lease_until=datetime.fromisoformat("2000-01-01T00:00:00Z"))
        await self.database.write(lambda connection: connection.execute(ended))

    async def problem(self) -> str | None:
        """Why the stream has stopped; None: it goes on."""
        states = await OutboxLists(self.database).streams()
        return next(state.problem for state in states if state.stream == Stream.EXECUTIONS)

    async def marked(self) -> list[bytes]:
        """What is marked as published, in the order of its places."""
        found = (
            select(outbox_message.c.value)
            .where(outbox_message.c.published_at.is_not(None), outbox_message.c.error.is_(None))
            .order_by(outbox_message.c.seq)
        )
        return [*await self.database.read(lambda connection: connection.scalars(found).all())]


Around: TypeAlias = Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]


class AroundStreams:
    """`OutboxStreams` whose calls something is done around: before, after, or instead."""

    def __init__(self, inner: OutboxStreams, around: Around) -> None:
        self._inner, self._around = inner, around

    async def lease(self, stream: Stream) -> Held | None:
        found: Held | None = await self._around("lease", lambda: self._inner.lease(stream))
        return found

    async def standing(self, stream: Stream) -> Standing:
        found: Standing = await self._around("standing", lambda: self._inner.standing(stream))
        return found

    async def keep(self, held: Held) -> None:
        await self._around("keep", lambda: self._inner.keep(held))

    async def claim(self, held: Held, after: int, published: int, most: int) -> Sequence[Queued]:
        found: Sequence[Queued] = await self._around(
            "claim", lambda: self._inner.claim(held, after, published, most)
        )
        return found

    async def mark(self, held: Held, after: int, published: int) -> None:
        await self._around("mark", lambda: self._inner.mark(held, after, published))

    async def refuse(self, held: Held, reasons: Mapping[int, str]) -> None:
        await self._around("refuse", lambda: self._inner.refuse(held, reasons))

    async def stop(self, held: Held, problem: str) -> None:
        await self._around("stop", lambda: self._inner.stop(held, problem))

    async def release(self, held: Held) -> None:
        await self._around("release", lambda: self._inner.release(held))


class AroundChannels:
    """The same for `Channels`."""

    def __init__(self, inner: Channels, around: Around) -> None:
        self._inner, self._around = inner, around

    def open(self, name: str) -> "AroundChannel":
        return AroundChannel(self._inner.open(name), self._around)


class AroundChannel:
    def __init__(self, inner: Channel, around: Around) -> None:
        self._inner, self._around = inner, around

    async def begin(self) -> int:
        marker: int = await self._around("begin", self._inner.begin)
        return marker

    async def send(self, batch: Sequence[Queued]) -> None:
        await self._around("send", lambda: self._inner.send(batch))

    async def close(self) -> None:
        await self._inner.close()
