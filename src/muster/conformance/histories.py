"""Histories of caches and locks that many clients use at once, and what would explain them."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import TypeAlias

from muster.conformance.caches import CachePlace, SeenLocks
from muster.conformance.checks import expect
from muster.conformance.linearizability import Operation, unexplained
from muster.engine.cache import Cache, Entry, Version

CLIENTS, OPERATIONS, AT_ONCE, KEYS = 8, 200, 20, 60
# In every so many'th history, from the second on, operations go one by one.
SINGLY_EVERY = 10
INSTANCES = tuple(f"i{number}/x" for number in range(CLIENTS))
Asked: TypeAlias = tuple[object, ...]
Answers: TypeAlias = Sequence[object]


def cache_model(held: Version | None, asked: Asked, answered: object) -> tuple[Version | None, ...]:
    """A key of a cache: the version that is there. Every text says which version it is of."""
    verb, version = asked
    if verb == "get":
        return (held,) if answered == held else ()
    if verb == "renew":
        return (held,) if answered is (held is not None) else ()
    assert isinstance(version, Version)
    overtaken = held is not None and held > version
    if verb == "put":
        return (held if overtaken else version,) if answered is not overtaken else ()
    gone = held is not None and not overtaken
    return (None if gone else held,) if answered is gone else ()


def lock_model(holder: str | None, asked: Asked, answered: object) -> tuple[str | None, ...]:
    """A lock: who has it."""
    verb, instance = asked
    if verb == "holders":
        return (holder,) if answered == holder else ()
    assert isinstance(instance, str)
    if verb == "acquire":
        return (holder or instance,) if answered is (holder is None) else ()
    mine = holder == instance
    return (None if mine and verb == "release" else holder,) if answered is mine else ()


class Clerk:
    """Writes down what many clients ask and are answered, by one clock."""

    def __init__(self) -> None:
        self.history: list[Operation[Asked]] = []
        self._ticks = count()

    async def ask(self, asked: dict[str, Asked], work: Callable[[], Awaitable[Answers]]) -> None:
        called = next(self._ticks)
        answers = await work()
        returned = next(self._ticks)
        pairs = zip(asked.items(), answers, strict=True)
        self.history += [Operation(key, what, answer, called, returned) for (key, what), answer in pairs]


async def cache_histories(place: CachePlace, histories: int) -> None:
    """Raises `NotKept`."""
    async with place.caches(CLIENTS) as caches:
        for number in range(histories):
            chance, clerk, keys = random.Random(number), Clerk(), [place.key() for _ in range(KEYS)]
            size = _size(number)
            await asyncio.gather(*(_use_cache(cache, keys, size, chance, clerk) for cache in caches))
            _explained(clerk, unexplained(clerk.history, cache_model, None), number)
            await caches[0].remove(dict.fromkeys(keys, Version(9)))


async def lock_histories(place: CachePlace, histories: int) -> None:
    """Raises `NotKept`."""
    async with place.locks(*INSTANCES) as locks:
        for number in range(histories):
            chance, clerk, ids = random.Random(number), Clerk(), [place.execution() for _ in range(KEYS)]
            clients, size = zip(locks, INSTANCES, strict=True), _size(number)
            await asyncio.gather(
                *(_use_locks(lock, name, ids, size, chance, clerk) for lock, name in clients)
            )
            _explained(clerk, unexplained(clerk.history, lock_model, None), number)
            for lock in locks:
                await lock.release(ids)


def _size(number: int) -> int:
    return 1 if number % SINGLY_EVERY == 1 else AT_ONCE


def _explained(clerk: Clerk, wrong: Sequence[str], number: int) -> None:
    expect(len(clerk.history) == CLIENTS * OPERATIONS, "some clients were not answered")
    keys = ", ".join(wrong[:3])
    expect(not wrong, f"history {number}: no order of events explains what clients were told of {keys}")


async def _use_cache(cache: Cache, keys: list[str], size: int, chance: random.Random, clerk: Clerk) -> None:
    for _ in range(OPERATIONS // size):
        some = chance.sample(keys, size)
        verb = chance.choice(["put", "put", "get", "renew", "remove"])
        versions = {key: Version(chance.randrange(1, 4), chance.randrange(3)) for key in some}
        asked: dict[str, Asked] = {key: (verb, version) for key, version in versions.items()}
        match verb:
            case "put":
                entries = [Entry(key, version, _text(version)) for key, version in versions.items()]
                await clerk.ask(asked, partial(cache.put, entries))
            case "get":
                await clerk.ask(asked, partial(_versions, cache, some))
            case "renew":
                await clerk.ask(asked, partial(cache.renew, some))
            case _:
                await clerk.ask(asked, partial(cache.remove, versions))


def _text(version: Version) -> str:
    return f'{{"of":{list(version)}}}'


async def _versions(cache: Cache, keys: list[str]) -> Answers:
    found = await cache.get(keys)
    torn = [each for each in found if each is not None and each.text != _text(each.version)]
    expect(not torn, "an entry has the text of one version and the number of another")
    return [each and each.version for each in found]


async def _use_locks(
    locks: SeenLocks, instance: str, ids: list[str], size: int, chance: random.Random, clerk: Clerk
) -> None:
    for _ in range(OPERATIONS // size):
        some = chance.sample(ids, size)
        verb = chance.choice(["acquire", "renew", "release", "holders"])
        asked: dict[str, Asked] = dict.fromkeys(some, (verb, instance))
        await clerk.ask(asked, partial(getattr(locks, verb), some))
