"""What locks promise beside what every kind of them does."""

import json
import uuid
from datetime import datetime, timedelta

import pytest

from caches import place
from muster.cache.redis import RedisLocks, open_redis
from muster.conformance.caches import CachePlace
from muster.engine.cache import lock_key
from muster.kit.clock import SystemClock
from polling import until

__all__ = ["place"]


def an_execution() -> str:
    return str(uuid.uuid4())


async def test_many_are_answered_each_in_its_place(place: CachePlace) -> None:
    executions = [an_execution() for _ in range(1_000)]
    async with place.locks("a/1", "b/1") as (one, other):
        await other.acquire(executions[::4])
        expected = [number % 4 != 0 for number in range(1_000)]
        assert list(await one.acquire(executions)) == expected
        assert list(await one.renew(executions)) == expected
        assert list(await one.release(executions)) == expected
        assert await other.holders(executions[:5]) == ["b/1", None, None, None, "b/1"]
        assert [*await one.acquire([]), *await one.renew([]), *await one.release([])] == []


@pytest.mark.redis
async def test_a_lock_says_who_has_it_since_when_and_until_when(redis_url: str) -> None:
    execution = an_execution()
    async with open_redis(redis_url) as redis:
        locks = RedisLocks(redis, "pod-1/x", SystemClock(), timedelta(seconds=30))
        await locks.acquire([execution])
        before = json.loads(str(await redis.get(lock_key(execution))))
        assert 25_000 < await redis.pttl(lock_key(execution)) <= 30_000
        assert before.keys() == {"instanceId", "acquiredAt", "expiresAt"}
        assert before["instanceId"] == "pod-1/x"
        held = [datetime.fromisoformat(before[name]) for name in ("acquiredAt", "expiresAt")]
        assert held[1] - held[0] == timedelta(seconds=30)

        async def is_later() -> bool:
            await locks.renew([execution])
            after = json.loads(str(await redis.get(lock_key(execution))))
            assert after["acquiredAt"] == before["acquiredAt"]
            return bool(after["expiresAt"] > before["expiresAt"])

        await until(is_later)


@pytest.mark.redis
@pytest.mark.parametrize("text", ["no JSON", "[]", '"a/1"', '{"instanceId":7}'])
async def test_a_lock_that_cannot_be_read_is_somebody_elses(redis_url: str, text: str) -> None:
    execution = an_execution()
    async with open_redis(redis_url) as redis:
        locks = RedisLocks(redis, "a/1", SystemClock(), timedelta(seconds=30))
        await redis.set(lock_key(execution), text, px=60_000)
        asked = locks.acquire, locks.renew, locks.release
        assert [await ask([execution]) for ask in asked] == [[False]] * 3
        assert await locks.holders([execution]) == [None]
        assert await redis.get(lock_key(execution)) == text


@pytest.mark.redis
async def test_a_key_of_another_kind_is_somebody_elses_lock_and_the_others_are_ones_own(
    redis_url: str,
) -> None:
    executions = [an_execution() for _ in range(3)]
    async with open_redis(redis_url, 60) as redis:
        locks = RedisLocks(redis, "a/1", SystemClock(), timedelta(seconds=30))
        await redis.rpush(lock_key(executions[1]), "a list")
        asked = locks.acquire, locks.renew, locks.release
        assert [list(await ask(executions)) for ask in asked] == [[True, False, True]] * 3
        await redis.delete(lock_key(executions[1]))
