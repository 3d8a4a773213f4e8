"""What is at hand in a Redis, for as long as it says: 24 hours, and locks for 30 seconds."""

from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from engine_house import House, Told, chain, node
from muster.app.cache import LOCK_TTL, CacheMetrics, SharedCache
from muster.cache.redis import open_redis
from muster.engine.cache import context_key, lock_key, node_key
from muster.engine.contexts import CachedContexts
from muster.kit.clock import SystemClock
from muster.store.database import Database

pytestmark = pytest.mark.redis

PATIENT_SECONDS = 60.0
DAY, HALF_A_MINUTE = 24 * 3600 * 1000, 30 * 1000
A_WHILE = 20 * 1000


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with open_redis(redis_url, PATIENT_SECONDS) as found:
        yield found


@pytest.fixture
def contexts(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> CachedContexts:
    monkeypatch.setattr("muster.app.cache.PATIENCE_SECONDS", PATIENT_SECONDS)
    metrics = CacheMetrics(CollectorRegistry())
    return SharedCache(redis, metrics).contexts("here/1", SystemClock())


async def test_all_of_an_execution_is_renewed_while_it_runs(
    database: Database, redis: Redis, contexts: CachedContexts
) -> None:
    told = Told(pauses_at="b")
    house = House(database, told, at_hand=contexts)
    await house.define(chain(node("a"), node("b")))
    execution = await house.start()
    await told.hanging.wait()
    await contexts.tell()
    keys = {
        context_key(execution): DAY,
        node_key(execution, "a"): DAY,
        lock_key(execution): HALF_A_MINUTE,
    }

    async def are_new() -> bool:
        left = {key: await redis.pttl(key) for key in keys}
        return all(keys[key] - A_WHILE < left[key] <= keys[key] for key in keys)

    assert await are_new()
    for key in keys:
        await redis.pexpire(key, HALF_A_MINUTE - A_WHILE)
    assert not await are_new()
    contexts._renew_at = contexts._renew_contexts_at = 0.0
    assert await contexts.work() == LOCK_TTL.total_seconds() / 3, "until then nothing is renewed again"
    assert await are_new()
    told.go_on.set()
    await house.instance.ended(execution)
    await contexts.tell()
    assert await redis.exists(*keys) == 0
