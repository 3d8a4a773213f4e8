"""Every cache and lock there is, for tests that hold for each of them."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from muster.cache.memory import MemoryCache, MemoryLocks, Shelf
from muster.cache.redis import RedisCache, RedisLocks, open_redis
from muster.engine.cache import Cache, Locks
from muster.engine.contexts import CachedContexts, breaker_of
from muster.kit.clock import SystemClock
from muster.model.json import JsonObject

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


class Counted:
    """A `CacheObserver` that remembers."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def counted(self, what: str, number: int) -> None:
        self.counts[what] += number


class Hand:
    """Contexts at hand on a shelf that several instances may share."""

    def __init__(self, shelf: Shelf, instance: str = "here/1") -> None:
        self.shelf, self.counted, self.failures = shelf, Counted(), 0
        self.cache = MemoryCache(shelf, LONG)
        self.locks = MemoryLocks(shelf, instance, SystemClock(), LONG)
        breaker = breaker_of(PATIENT_SECONDS, self._failed)
        self.contexts = CachedContexts(self.cache, self.locks, breaker, self.counted, 30.0)

    def _failed(self) -> None:
        self.failures += 1

    def there(self, key: str) -> JsonObject | None:
        text = self.shelf.get(key)
        return None if text is None else json.loads(text)
