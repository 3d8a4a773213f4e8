"""What locks promise, whichever they are."""

import json
import uuid
from datetime import datetime, timedelta

import pytest

from caches import Place, place
from muster.cache.redis import RedisLocks, open_redis
from muster.engine.cache import lock_key
from muster.kit.clock import SystemClock
from polling import until

__all__ = ["place"]


def an_execution() -> str:
    return str(uuid.uuid4())


async def test_one_of_two_has_it(place: Place) -> None:
    execution = an_execution()
    async with place.locks("a/1", "b/1") as (one, other):
        assert await one.acquire([execution]) == [True]
        assert await other.acquire([execution]) == [False]
        assert await one.acquire([execution]) == [False], "who has it knows"
        assert await other.holders([execution, an_execution()]) == ["a/1", None]


async def test_what_is_released_can_be_had(place: Place) -> None:
    execution = an_execution()
    async with place.locks("a/1", "b/1") as (one, other):
        await one.acquire([execution])
        assert await one.release([execution]) == [True]
        assert await other.acquire([execution]) == [True]


async def test_nobody_releases_what_another_has(place: Place) -> None:
    execution = an_execution()
    async with place.locks("a/1", "b/1", "a/2") as (one, other, later):
        await one.acquire([execution])
        assert await other.release([execution]) == [False]
        assert await later.release([execution]) == [False], "another incarnation"
        assert await one.holders([execution]) == ["a/1"]
        await one.release([execution])
        assert await one.release([execution]) == [False], "nobody has it"


async def test_nobody_renews_what_another_has(place: Place) -> None:
    execution, free = an_execution(), an_execution()
    async with place.locks("a/1", "b/1") as (one, other):
        await one.acquire([execution])
        assert await other.renew([execution, free]) == [False, False]
        assert await one.renew([execution]) == [True]
        assert await one.holders([execution, free]) == ["a/1", None]


async def test_many_are_answered_each_in_its_place(place: Place) -> None:
    executions = [an_execution() for _ in range(1_000)]
    async with place.locks("a/1", "b/1") as (one, other):
        await other.acquire(executions[::4])
        expected = [number % 4 != 0 for number in range(1_000)]
        assert list(await one.acquire(executions)) == expected
        assert list(await one.renew(executions)) == expected
        assert list(await one.release(executions)) == expected
        assert await other.holders(executions[:5]) == ["b/1", None, None, None, "b/1"]
        assert [*await one.acquire([]), *await one.renew([]), *await one.release([])] == []


async def test_a_lock_runs_out_unless_it_is_renewed(place: Place) -> None:
    left, renewed = an_execution(), an_execution()
    async with place.locks("a/1", "b/1", ttl=timedelta(seconds=2)) as (one, other):
        await one.acquire([left, renewed])

        async def can_be_had() -> bool:
            await one.renew([renewed])
            return list(await other.acquire([left])) == [True]

        await until(can_be_had)
        assert await one.renew([left, renewed]) == [False, True]
        assert await one.release([left]) == [False]
        assert await other.holders([left, renewed]) == ["b/1", "a/1"]


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
