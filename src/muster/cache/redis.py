"""A cache and locks in Redis."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import cast
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from muster.cache import scripts
from muster.cache.texts import holder_of, lock_text, moment, read_entry, text_of
from muster.engine.cache import Away, Entry, Version, lock_key
from muster.kit.clock import Clock

SCHEMES = ("redis", "rediss", "unix")
# Nobody waits for long: what is not here is in the database.
ANSWER_SECONDS = 0.5
CONNECTIONS = 16
# A script keeps everybody else waiting: so many keys are a fraction of a millisecond.
AT_ONCE = 200


class BadAddress(ValueError):
    """An address of a Redis that cannot be understood; the message holds no password."""


def check_address(url: str) -> None:
    """Raises `BadAddress`."""
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme.lower() not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise BadAddress(f"the address of a Redis begins with one of {known}")
    try:
        parts = urlsplit(url)
        has_place = bool(parts.path if scheme == "unix" else parts.hostname) and parts.port != 0
    except ValueError:
        raise BadAddress("the port of a Redis is a number from 1 to 65535") from None
    if not has_place:
        raise BadAddress("the address of a Redis names its host, such as redis://cache.example.org:6379/0")
    if scheme != "unix" and not (parts.path in ("", "/") or parts.path[1:].isdigit()):
        raise BadAddress("after the host of a Redis comes the number of its database, such as /0")


def open_redis(url: str, answer_seconds: float = ANSWER_SECONDS) -> "Redis":
    """A client that gives up soon and tries nothing twice: that is for whoever asks to decide. Raises
    `BadAddress`."""
    check_address(url)
    return Redis.from_url(
        url,
        socket_timeout=answer_seconds,
        socket_connect_timeout=answer_seconds,
        max_connections=CONNECTIONS,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
        # What somebody else put there may be no text: then it is nothing to us, and no trouble.
        encoding_errors="replace",
    )


class _Scripts:
    """Runs scripts over many keys: one round trip, in parts that keep nobody else waiting."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    async def run(
        self, script: str, keys: Sequence[str], given: Sequence[str | int], each: Sequence[str | int] = ()
    ) -> list[bool]:
        """`given` is for all of the keys; of `each`, every key has an equal share."""
        if not keys:
            return []
        share = len(each) // len(keys)
        pipeline = self._redis.pipeline(transaction=False)
        for start in range(0, len(keys), AT_ONCE):
            part, own = keys[start : start + AT_ONCE], each[start * share : (start + AT_ONCE) * share]
            pipeline.eval(script, len(part), *part, *given, *own)
        with _told():
            answers = await pipeline.execute()
        return [answer == 1 for part in answers for answer in part]

    async def texts(self, keys: Sequence[str]) -> list[str | None]:
        if not keys:
            return []
        with _told():
            return cast("list[str | None]", await self._redis.mget(keys))


@contextmanager
def _told() -> Iterator[None]:
    """Whatever the client or the wire has to say, it comes to the same."""
    try:
        yield
    except (RedisError, OSError) as trouble:
        raise Away(f"{type(trouble).__name__}: {trouble}") from trouble


class RedisCache:
    """`engine.cache.Cache` in Redis."""

    def __init__(self, redis: "Redis", ttl: timedelta) -> None:
        self._scripts, self._ttl = _Scripts(redis), milliseconds(ttl)

    async def put(self, entries: Sequence[Entry]) -> Sequence[bool]:
        each: list[str | int] = []
        for entry in entries:
            each += (*entry.version, text_of(entry))
        return await self._scripts.run(scripts.PUT, [entry.key for entry in entries], [self._ttl], each)

    async def get(self, keys: Sequence[str]) -> Sequence[Entry | None]:
        texts = await self._scripts.texts(keys)
        return [read_entry(key, text) for key, text in zip(keys, texts, strict=True)]

    async def remove(self, last: Mapping[str, Version]) -> Sequence[bool]:
        each = [part for version in last.values() for part in version]
        return await self._scripts.run(scripts.REMOVE, list(last), [], each)

    async def renew(self, keys: Sequence[str]) -> Sequence[bool]:
        return await self._scripts.run(scripts.KEEP, keys, [self._ttl])


class RedisLocks:
    """`engine.cache.Locks` in Redis."""

    def __init__(self, redis: "Redis", instance: str, clock: Clock, ttl: timedelta) -> None:
        self._scripts = _Scripts(redis)
        self._instance, self._clock, self._ttl = instance, clock, ttl

    async def acquire(self, executions: Sequence[str]) -> Sequence[bool]:
        lock = lock_text(self._instance, self._clock.now(), self._ttl)
        return await self._run(scripts.ACQUIRE, executions, milliseconds(self._ttl), lock)

    async def renew(self, executions: Sequence[str]) -> Sequence[bool]:
        until = moment(self._clock.now() + self._ttl)
        return await self._run(scripts.RENEW, executions, milliseconds(self._ttl), self._instance, until)

    async def release(self, executions: Sequence[str]) -> Sequence[bool]:
        return await self._run(scripts.RELEASE, executions, self._instance)

    async def holders(self, executions: Sequence[str]) -> Sequence[str | None]:
        return [holder_of(text) for text in await self._scripts.texts(_keys(executions))]

    async def _run(self, script: str, executions: Sequence[str], *given: str | int) -> Sequence[bool]:
        return await self._scripts.run(script, _keys(executions), given)


def _keys(executions: Sequence[str]) -> list[str]:
    return [lock_key(execution) for execution in executions]


def milliseconds(ttl: timedelta) -> int:
    return max(1, round(ttl.total_seconds() * 1000))
