"""The cache that instances share, put together: contexts and locks in Redis, and what is told of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge

from muster.api.parts import Check, Condition
from muster.app.settings import RedisSettings
from muster.engine.contexts import CachedContexts, What, breaker_of
from muster.kit.clock import Clock

# Redis's library is loaded where there is a Redis: it takes a tenth of the time that a start takes.
if TYPE_CHECKING:
    from redis.asyncio import Redis

CONTEXT_TTL = timedelta(hours=24)
LOCK_TTL = timedelta(seconds=30)
# All that anybody waits for it: what is not there is in the database.
PATIENCE_SECONDS = 0.5


class CacheMetrics:
    """An `engine.contexts.CacheObserver` that counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counters = {
            "hit": ("muster_cache_hits", "Contexts that came from the cache."),
            "miss": ("muster_cache_misses", "Contexts that the cache did not have."),
            "stale": ("muster_cache_stale", "Contexts in the cache that were not the last ones."),
            "lock_lost": ("muster_cache_lock_losses", "Locks in the cache that ran out or were another's."),
        }
        self._counters = {what: Counter(*told, registry=registry) for what, told in counters.items()}
        self._errors = Counter(
            "muster_cache_errors", "Questions that the cache did not answer in time.", registry=registry
        )
        self.is_open = Gauge(
            "muster_cache_breaker_open", "1 while the cache is left alone, else 0.", registry=registry
        )

    def counted(self, what: What, number: int) -> None:
        if number:
            self._counters[what].inc(number)

    def failed(self) -> None:
        self._errors.inc()


class SharedCache:
    """A Redis, and how this instance uses it."""

    def __init__(self, redis: "Redis", metrics: CacheMetrics) -> None:
        self._redis, self._metrics = redis, metrics
        self._breaker = breaker_of(PATIENCE_SECONDS, metrics.failed)
        metrics.is_open.set_function(lambda: float(self._breaker.is_open))

    def contexts(self, owner: str, clock: Clock) -> CachedContexts:
        from muster.cache.redis import RedisCache, RedisLocks

        cache = RedisCache(self._redis, CONTEXT_TTL)
        locks = RedisLocks(self._redis, owner, clock, LOCK_TTL)
        return CachedContexts(cache, locks, self._breaker, self._metrics, LOCK_TTL.total_seconds())

    def check(self) -> Check:
        """Its trouble is nobody's: without it everything takes a little longer."""

        async def usable() -> Condition:
            if self._breaker.is_open or not await answers(self._redis):
                return Condition(True, {"reason": "it does not answer; the database does"}, degraded=True)
            return Condition(True, {})

        return usable


@asynccontextmanager
async def shared_cache(
    settings: RedisSettings, registry: CollectorRegistry
) -> AsyncIterator[SharedCache | None]:
    """None: there is none."""
    if settings.url is None:
        yield None
        return
    from muster.cache.redis import open_redis

    redis = open_redis(settings.url.get_secret_value())
    try:
        yield SharedCache(redis, CacheMetrics(registry))
    finally:
        await redis.aclose()


async def answers(redis: "Redis") -> bool:
    from redis.exceptions import RedisError

    try:
        return bool(await redis.ping())
    except (RedisError, OSError):
        return False


def redis_name(url: str) -> str:
    """Where it is, for people: nothing of its user and password."""
    parts = urlsplit(url)
    place = parts.path if parts.scheme == "unix" else f"{parts.netloc.rpartition('@')[2]}{parts.path}"
    return f"{parts.scheme}://{place}"
