"""Every cache and lock there is, for tests that hold for each of them."""

import json
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from muster.cache.memory import MemoryCache, MemoryLocks, Shelf
from muster.conformance.caches import LONG, PATIENT_SECONDS, CachePlace
from muster.engine.contexts import CachedContexts, breaker_of
from muster.kit.clock import SystemClock
from muster.model.json import JsonObject

EVERY_KIND = ["memory", pytest.param("redis", marks=pytest.mark.redis)]


@pytest.fixture(params=EVERY_KIND)
async def place(request: pytest.FixtureRequest) -> AsyncIterator[CachePlace]:
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    made = CachePlace(url)
    yield made
    await made.forget()


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
