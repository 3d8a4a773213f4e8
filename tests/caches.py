"""Every cache and lock there is, for tests that hold for each of them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from muster.cache.memory import MemoryCache, MemoryLocks, Shelf
from muster.cache.redis import RedisCache, RedisLocks, open_redis
from muster.engine.cache import Cache, Locks
from muster.kit.clock import SystemClock

EVERY_KIND = ["memory", pytest.param("redis", marks=pytest.mark.redis)]
LONG = timedelta(hours=1)
PATIENT_SECONDS = 60.0


@dataclass
class Place:
    """Where entries and locks are kept; whoever asks for some shares them with all who asked."""

    kind: str
    url: str = ""

    @asynccontextmanager
    async def caches(self, count: int = 1, ttl: timedelta = LONG) -> AsyncIterator[list[Cache]]:
        """So many clients."""
        if self.kind == "memory":
            shelf = Shelf(time.monotonic)
            yield [Yielding(MemoryCache(shelf, ttl)) for _ in range(count)]
            return
        clients = [open_redis(self.url, PATIENT_SECONDS) for _ in range(count)]
        yield [RedisCache(client, ttl) for client in clients]
        for client in clients:
            await client.aclose()

    @asynccontextmanager
    async def locks(self, *instances: str, ttl: timedelta = LONG) -> AsyncIterator[list[Locks]]:
        """One for each of these instances."""
        clock = SystemClock()
        if self.kind == "memory":
            shelf = Shelf(time.monotonic)
            yield [Yielding(MemoryLocks(shelf, instance, clock, ttl)) for instance in instances]
            return
        clients = [open_redis(self.url, PATIENT_SECONDS) for _ in instances]
        pairs = zip(clients, instances, strict=True)
        yield [RedisLocks(client, instance, clock, ttl) for client, instance in pairs]
        for client in clients:
            await client.aclose()


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


@pytest.fixture(params=EVERY_KIND)
def place(request: pytest.FixtureRequest) -> Place:
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    return Place(request.param, url)
