"""What a cache promises, and locks do, whichever they are."""

import asyncio
import json
import uuid
from datetime import timedelta

import pytest

from caches import place
from muster.cache.redis import RedisCache, open_redis
from muster.conformance.cache_checks import CACHE_CHECKS
from muster.conformance.caches import CachePlace
from muster.conformance.checks import Check
from muster.engine.cache import Away, Entry, Version
from ports import free_port

__all__ = ["place"]


def a_key() -> str:
    return f"execution:context:{uuid.uuid4()}"


def entry(key: str, fence: int, step: int = 0, **value: object) -> Entry:
    return Entry(key, Version(fence, step), json.dumps(value))


@pytest.mark.parametrize("check", CACHE_CHECKS, ids=lambda check: check.name)
async def test_every_cache_keeps_its_promise(check: Check[CachePlace], place: CachePlace) -> None:
    await check.run(place)


async def test_an_object_without_members_can_be_kept(place: CachePlace) -> None:
    key = a_key()
    async with place.caches() as [cache]:
        await cache.put([entry(key, 1)])
        assert await cache.get([key]) == [entry(key, 1)]


async def test_nothing_asked_is_nothing_answered(place: CachePlace) -> None:
    async with place.caches() as [cache]:
        assert [
            *await cache.put([]),
            *await cache.get([]),
            *await cache.remove({}),
            *await cache.renew([]),
        ] == []


@pytest.mark.redis
async def test_an_entry_is_plain_json_with_its_time_to_live(redis_url: str) -> None:
    key = a_key()
    async with open_redis(redis_url) as redis:
        await RedisCache(redis, timedelta(hours=24)).put([entry(key, 4, 2, executionId="x")])
        assert json.loads(str(await redis.get(key))) == {"fence": 4, "step": 2, "executionId": "x"}
        assert 86_000_000 < await redis.pttl(key) <= 86_400_000


@pytest.mark.redis
@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        '{"fence":"x"}',
        "",
        '{"step":1,"fence":2}',
        '{"fence":' + "9" * 16 + ',"step":1}',
        '{"fence":' + "9" * 5_000 + ',"step":1}',
        '{"fence":9,"step":' + "9" * 5_000 + "}",
        b"\xff\xfe",
        b'{"fence":9,"step":1,"name":"\xff"}',
    ],
)
async def test_what_somebody_else_put_there_is_not_there(redis_url: str, text: str | bytes) -> None:
    key = a_key()
    async with open_redis(redis_url) as redis:
        await redis.set(key, text)
        assert await RedisCache(redis, timedelta(hours=1)).get([key]) == [None]


@pytest.mark.redis
@pytest.mark.parametrize(
    "text", ["no JSON", '{"fence":"x"}', "", '{"fence":' + "9" * 16 + ',"step":1}', b"\xff\xfe"]
)
async def test_what_somebody_else_put_there_gives_way(redis_url: str, text: str | bytes) -> None:
    key = a_key()
    async with open_redis(redis_url) as redis:
        cache = RedisCache(redis, timedelta(hours=1))
        await redis.set(key, text)
        assert await cache.put([entry(key, 1)]) == [True]
        assert await cache.get([key]) == [entry(key, 1)]
        await redis.set(key, text)
        assert await cache.remove({key: Version(1)}) == [True]


@pytest.mark.redis
async def test_a_key_of_another_kind_is_not_there_and_keeps_nobody_from_the_others(redis_url: str) -> None:
    keys = [a_key() for _ in range(3)]
    entries = [entry(key, 1) for key in keys]
    async with open_redis(redis_url, 60) as redis:
        cache = RedisCache(redis, timedelta(hours=1))
        await cache.put(entries)
        for spoil in (lambda: redis.rpush(keys[1], "a list"), lambda: redis.hset(keys[1], "a", "hash")):
            await redis.delete(keys[1])
            await spoil()
            assert await cache.get(keys) == [entries[0], None, entries[2]]
            assert await cache.put(entries) == [True] * 3
            assert await cache.get(keys) == entries
        await redis.delete(keys[1])
        await redis.rpush(keys[1], "a list")
        assert await cache.remove(dict.fromkeys(keys, Version(1))) == [True] * 3
        assert await redis.exists(*keys) == 0


@pytest.mark.redis
async def test_a_redis_that_refuses_or_is_not_there_is_away(redis_url: str) -> None:
    key = a_key()
    async with open_redis(redis_url.replace("://", "://nobody:wrong@"), 60) as refusing:
        with pytest.raises(Away):
            await RedisCache(refusing, timedelta(hours=1)).get([key])
    async with open_redis(f"redis://127.0.0.1:{free_port()}") as nobody:
        with pytest.raises(Away):
            await RedisCache(nobody, timedelta(hours=1)).get([key])


@pytest.mark.redis
async def test_a_set_of_entries_is_one_round_trip(redis_url: str) -> None:
    """Thousands are sent before the first answer is waited for: a slow wire is waited for once."""
    async with open_redis(redis_url, 60) as redis:
        cache, waits = RedisCache(redis, timedelta(hours=1)), 0
        connection = await redis.connection_pool.get_connection()
        await redis.connection_pool.release(connection)
        send = connection.send_packed_command

        async def counted(*given: object, **options: object) -> None:
            nonlocal waits
            waits += 1
            await send(*given, **options)

        connection.send_packed_command = counted
        await cache.put([entry(a_key(), 1) for _ in range(2_000)])
        await asyncio.sleep(0)
    assert waits == 1
