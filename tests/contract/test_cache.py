"""What a cache promises, whichever it is."""

import asyncio
import json
import uuid
from datetime import timedelta

import pytest

from caches import Place, place
from muster.cache.redis import RedisCache, open_redis
from muster.engine.cache import Away, Entry, Version
from polling import until
from ports import free_port

__all__ = ["place"]


def a_key() -> str:
    return f"execution:context:{uuid.uuid4()}"


def entry(key: str, fence: int, step: int = 0, **value: object) -> Entry:
    return Entry(key, Version(fence, step), json.dumps(value))


async def test_what_was_put_is_there(place: Place) -> None:
    kept = entry(a_key(), 3, 7, variables={"name": "Zoë", "n": [1.5, None, 2**70]}, status="RUNNING")
    async with place.caches(2) as (one, other):
        assert await one.put([kept]) == [True]
        [found] = await other.get([kept.key])
    assert found is not None
    assert (found.key, found.version) == (kept.key, kept.version)
    assert json.loads(found.text) == json.loads(kept.text)


async def test_an_object_without_members_can_be_kept(place: Place) -> None:
    key = a_key()
    async with place.caches() as [cache]:
        await cache.put([entry(key, 1)])
        assert await cache.get([key]) == [entry(key, 1)]


async def test_what_was_not_put_is_not_there(place: Place) -> None:
    async with place.caches() as [cache]:
        assert await cache.get([a_key()]) == [None]
        assert await cache.remove({a_key(): Version(1)}) == [False]
        assert await cache.renew([a_key()]) == [False]


async def test_nothing_asked_is_nothing_answered(place: Place) -> None:
    async with place.caches() as [cache]:
        assert [
            *await cache.put([]),
            *await cache.get([]),
            *await cache.remove({}),
            *await cache.renew([]),
        ] == []


@pytest.mark.parametrize(
    ("there", "new", "taken"),
    [
        ((2, 5), (3, 0), True),
        ((2, 5), (2, 6), True),
        ((2, 5), (2, 5), True),
        ((2, 5), (2, 4), False),
        ((2, 5), (1, 9), False),
        ((10, 0), (9, 0), False),
    ],
)
async def test_a_stale_writer_overwrites_nothing_newer(
    place: Place, there: tuple[int, int], new: tuple[int, int], taken: bool
) -> None:
    key = a_key()
    async with place.caches() as [cache]:
        await cache.put([entry(key, *there, by="the first")])
        assert await cache.put([entry(key, *new, by="the second")]) == [taken]
        [found] = await cache.get([key])
    assert found is not None
    assert found.version == Version(*(new if taken else there))
    assert json.loads(found.text) == {"by": "the second" if taken else "the first"}


async def test_a_stale_remover_removes_nothing_newer(place: Place) -> None:
    key = a_key()
    async with place.caches() as [cache]:
        await cache.put([entry(key, 2, 5)])
        assert await cache.remove({key: Version(1, 9)}) == [False]
        assert await cache.remove({key: Version(2, 4)}) == [False]
        assert await cache.get([key]) != [None]
        assert await cache.remove({key: Version(2, 5)}) == [True]
        assert await cache.get([key]) == [None]


async def test_many_are_answered_each_in_its_place(place: Place) -> None:
    keys = [a_key() for _ in range(1_000)]
    async with place.caches() as [cache]:
        await cache.put([entry(key, 9) for key in keys[::3]])
        answers = await cache.put([entry(key, 1, number) for number, key in enumerate(keys)])
        assert list(answers) == [number % 3 != 0 for number in range(1_000)]
        found = await cache.get(keys)
        assert [each and each.version.fence for each in found] == [9, 1, 1] * 333 + [9]
        removed = await cache.remove({key: Version(1, 10_000) for key in keys})
        assert list(removed) == list(answers)


async def test_what_is_not_used_goes_and_what_is_renewed_stays(place: Place) -> None:
    left, renewed = a_key(), a_key()
    async with place.caches(ttl=timedelta(seconds=2)) as [cache]:
        await cache.put([entry(left, 1), entry(renewed, 1)])

        async def is_gone() -> bool:
            await cache.put([entry(renewed, 1)])
            return await cache.get([left]) == [None]

        await until(is_gone)
        assert await cache.get([renewed]) != [None]
        assert await cache.renew([left, renewed]) == [False, True]


@pytest.mark.redis
async def test_an_entry_is_plain_json_with_its_time_to_live(redis_url: str) -> None:
    key = a_key()
    async with open_redis(redis_url) as redis:
        await RedisCache(redis, timedelta(hours=24)).put([entry(key, 4, 2, executionId="x")])
        assert json.loads(str(await redis.get(key))) == {"fence": 4, "step": 2, "executionId": "x"}
        assert 86_000_000 < await redis.pttl(key) <= 86_400_000


@pytest.mark.redis
@pytest.mark.parametrize("text", ["no JSON", '{"fence":"x"}', "", '{"step":1,"fence":2}'])
async def test_what_somebody_else_put_there_is_not_there_and_gives_way(redis_url: str, text: str) -> None:
    key = a_key()
    async with open_redis(redis_url) as redis:
        cache = RedisCache(redis, timedelta(hours=1))
        await redis.set(key, text)
        assert await cache.get([key]) == [None]
        assert await cache.put([entry(key, 1)]) == [True]


@pytest.mark.redis
async def test_a_redis_that_refuses_or_is_not_there_is_away(redis_url: str) -> None:
    key = a_key()
    async with open_redis(redis_url, 60) as redis:
        cache = RedisCache(redis, timedelta(hours=1))
        await redis.rpush(key, "a list")
        with pytest.raises(Away):
            await cache.put([entry(key, 1)])
        await redis.set(key, b"\xff\xfe")
        with pytest.raises(Away):
            await cache.get([key])
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
