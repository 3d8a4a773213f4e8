"""Buses as several processes see them: topics and groups of one's own, members that come, go and crash."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Protocol
from uuid import uuid4

from sqlalchemy import select

from muster.engine.bus import Batch, Bus, Handler, Message, Outgoing, Place, Recording, Rejected
from muster.engine.consuming import Consumer
from muster.engine.ports import NotWritten
from muster.kit.clock import SystemClock
from muster.store.bus import EmbeddedBus
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.message_letters import RejectedMessages
from muster.store.positions import ConsumerPositions
from muster.store.tables import dead_letter

LEASE = timedelta(seconds=30)
AWAY = (NotWritten, Unavailable, CommitUnknown)


class Heard:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.rejects: list[Rejected] = []
        self.lag: dict[Place, int] = {}

    def handled(self, messages: Sequence[Message]) -> None:
        self.messages += messages

    def rejected(self, rejected: Sequence[Rejected]) -> None:
        self.rejects += rejected

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        self.lag = dict(lag)


class Taking:
    """A handler that takes whatever comes."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        self.messages += batch.messages
        return []

    @property
    def values(self) -> list[bytes | None]:
        return [message.value for message in self.messages]

    def by_key(self) -> dict[bytes | None, list[bytes | None]]:
        found: dict[bytes | None, list[bytes | None]] = defaultdict(list)
        for message in self.messages:
            found[message.key].append(message.value)
        return found


class Buses(Protocol):
    def bus(self, name: str) -> Bus:
        """The bus as a process of this name sees it."""
        ...

    async def make(self, topic: str) -> None: ...

    async def close(self) -> None: ...


class EmbeddedBuses:
    """Processes that share a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._committers: list[GroupCommitter] = []

    def bus(self, name: str) -> Bus:
        self._committers.append(GroupCommitter(self._database))
        return EmbeddedBus(self._database, self._committers[-1], f"{name}/{uuid4()}", f"{name}/", LEASE)

    async def make(self, topic: str) -> None:
        return

    async def close(self) -> None:
        for committer in self._committers:
            await committer.close()


class BusHouse:
    """Topics and groups of one's own, under names that begin with `prefix`. `database` is what consumers
    write to, whatever the bus is."""

    def __init__(self, buses: Buses, database: Database, prefix: str = "") -> None:
        self._buses, self.database = buses, database
        self._prefix, self._tag = prefix, uuid4().hex[:8]
        self.group = f"{prefix}group-{self._tag}"
        self.publisher = buses.bus("publisher")
        self.heard = Heard()
        self.positions = ConsumerPositions(database)

    async def topic(self, name: str = "orders") -> str:
        """A topic that nobody else has."""
        topic = f"{self._prefix}{name}-{self._tag}"
        await self._buses.make(topic)
        return topic

    def consumer(
        self,
        topics: Collection[str],
        handler: Handler,
        name: str = "a",
        group: str | None = None,
        records: bool = False,
    ) -> Consumer:
        async def wanted() -> Collection[str]:
            return topics

        return Consumer(
            self._buses.bus(name),
            group or self.group,
            wanted,
            Recording(handler) if records else handler,
            RejectedMessages(self.database),
            SystemClock(),
            self.heard,
            AWAY,
            self.positions if records else None,
        )

    @asynccontextmanager
    async def consuming(
        self,
        topics: Collection[str],
        handler: Handler,
        name: str = "a",
        group: str | None = None,
        records: bool = False,
    ) -> AsyncIterator[Consumer]:
        consumer = self.consumer(topics, handler, name, group, records)
        async with running(consumer):
            yield consumer

    async def publish(self, *messages: Outgoing) -> None:
        await self.publisher.publish(messages)

    async def letters(self) -> list[dict[str, object]]:
        chosen = select(dead_letter).order_by(dead_letter.c.id)
        rows = await self.database.read(lambda connection: connection.execute(chosen).all())
        return [dict(row._mapping) for row in rows]

    async def close(self) -> None:
        await self._buses.close()


@asynccontextmanager
async def running(consumer: Consumer) -> AsyncIterator[None]:
    task = asyncio.create_task(consumer.run())
    try:
        yield
    finally:
        await consumer.stop()
        await task


async def crash(consumer: Consumer, task: asyncio.Task[None]) -> None:
    """Let it die in the middle of what it does; its partitions are let go of, its positions are not moved."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await consumer.member.leave()


def numbered(topic: str, count: int, keys: int = 5, start: int = 0) -> list[Outgoing]:
    return [
        Outgoing(topic, str(each).encode(), f"key-{each % keys}".encode())
        for each in range(start, start + count)
    ]


def values(count: int) -> list[bytes]:
    """Those of so many numbered messages."""
    return [str(each).encode() for each in range(count)]
