"""Caches and locks as several processes see them, under keys that nobody else has."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, cast
from uuid import uuid4

from muster.cache.memory import MemoryCache, MemoryLocks, Shelf
from muster.cache.redis import RedisCache, RedisLocks, open_redis
from muster.engine.cache import Cache, Locks, context_key, lock_key
from muster.kit.clock import SystemClock

LONG = timedelta(hours=1)
PATIENT_SECONDS = 60.0
SOON_SECONDS = 5.0
AT_ONCE = 1_000


class SeenLocks(Locks, Protocol):
    """Locks that whoever tries them can look at."""

    async def holders(self, executions: Sequence[str]) -> Sequence[str | None]:
        """Which instance holds each. None: nobody."""
        ...


@dataclass
class CachePlace:
    """Where entries and locks are kept: in the Redis at `url`, or in this process. Whoever asks for some
    shares them with all who asked. Names of keys have `prefix` in them."""

    url: str = ""
    prefix: str = ""
    used: list[str] = field(default_factory=list)

    def key(self) -> str:
        """A key for an entry that is nobody's."""
        self.used.append(context_key(f"{self.prefix}{uuid4()}"))
        return self.used[-1]

    def execution(self) -> str:
        """The id of an execution that is nobody's, to be locked."""
        execution = f"{self.prefix}{uuid4()}"
        self.used.append(lock_key(execution))
        return execution

    @asynccontextmanager
    async def caches(self, count: int = 1, ttl: timedelta = LONG) -> AsyncIterator[list[Cache]]:
        """So many clients."""
        if not self.url:
            shelf = Shelf(time.monotonic)
            yield [cast("Cache", Yielding(MemoryCache(shelf, ttl))) for _ in range(count)]
            return
        clients = [open_redis(self.url, PATIENT_SECONDS) for _ in range(count)]
        try:
            yield [RedisCache(client, ttl) for client in clients]
        finally:
            for client in clients:
                await client.aclose()

    @asynccontextmanager
    async def locks(self, *instances: str, ttl: timedelta = LONG) -> AsyncIterator[list[SeenLocks]]:
        """One for each of these instances."""
        clock = SystemClock()
        if not self.url:
            shelf = Shelf(time.monotonic)
            yield [cast("SeenLocks", Yielding(MemoryLocks(shelf, each, clock, ttl))) for each in instances]
            return
        clients = [open_redis(self.url, PATIENT_SECONDS) for _ in instances]
        pairs = zip(clients, instances, strict=True)
        try:
            yield [RedisLocks(client, instance, clock, ttl) for client, instance in pairs]
        finally:
            for client in clients:
                await client.aclose()

    async def check(self) -> None:
        """Raises `Away`."""
        if self.url:
            async with open_redis(self.url, SOON_SECONDS) as redis:
                await RedisCache(redis, LONG).get([self.key()])

    async def forget(self) -> None:
        """Remove whatever is still there under the keys that were given out."""
        if self.url:
            async with open_redis(self.url, PATIENT_SECONDS) as redis:
                for start in range(0, len(self.used), AT_ONCE):
                    await redis.delete(*self.used[start : start + AT_ONCE])
        self.used.clear()


class Yielding:
    """Lets others have their turn before and after everything, as whoever is at the end of a wire does."""

    def __init__(self, inner: object) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        method = getattr(self._inner, name)

        async def ask(*given: object) -> object:
            await asyncio.sleep(0)
            answer = await method(*given)
            await asyncio.sleep(0)
            return answer

        return ask
