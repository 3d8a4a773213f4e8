"""A Redis that fails as such servers do, for those who ask it through `engine.cache`.

It belongs to no process. What it was asked happens, or not, whether or not whoever asked is still there to
hear of it: it may come late, and its answer may get lost. It can be flushed, frozen and cut off from some of
its clients, and it can fail over to a copy of what it had a while ago, or to nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from muster.cache.memory import MemoryCache, MemoryLocks, Shelf
from muster.engine.cache import Away, Entry, Version
from muster.sim.world import World

T = TypeVar("T")
ENTRY_TTL = timedelta(hours=24)
LATEST_SECONDS = 5.0


class Fate(Enum):
    """What becomes of a question."""

    ANSWERED = "is answered"
    LOST = "gets lost"
    ANSWER_LOST = "is answered, which gets lost"
    LATE = "comes late"


# With their chances; what is left to 1 is answered.
ODDS = {Fate.LOST: 0.03, Fate.ANSWER_LOST: 0.03, Fate.LATE: 0.03}


class SimulatedRedis:
    """`stormy` says whether things go wrong with single questions."""

    def __init__(self, world: World, stormy: Callable[[], bool], slowest: float = 0.01) -> None:
        self._world, self._stormy, self._slowest = world, stormy, slowest
        self._chance = world.chance("redis")
        self.shelf = Shelf(world.loop.time)
        self._copy: dict[str, tuple[str, float]] = {}
        self._frozen_until = 0.0
        self._cut_off: dict[str, float] = {}

    def client(self, name: str, owner: str, ttl: timedelta) -> "tuple[RemoteCache, RemoteLocks]":
        """What an instance at a place asks it through; its locks are held for so long."""
        locks = MemoryLocks(self.shelf, owner, self._world.clock, ttl)
        return RemoteCache(self, name, MemoryCache(self.shelf, ENTRY_TTL)), RemoteLocks(self, name, locks)

    # --- what befalls it ----------------------------------------------------------------------------------

    def flush(self) -> None:
        self._note("is flushed")
        self.shelf.texts.clear()

    def copy(self) -> None:
        """A replica has what there is now."""
        self._copy = dict(self.shelf.texts)

    def fail_over(self) -> None:
        """Go on with what the replica has: everything since then is gone, what was removed is back."""
        self._note("fails over")
        self.shelf.texts = dict(self._copy)

    def freeze(self, seconds: float) -> None:
        self._note(f"is frozen for {seconds} s")
        self._frozen_until = self._world.loop.time() + seconds

    def cut_off(self, name: str, seconds: float) -> None:
        self._note(f"cannot be reached by {name} for {seconds} s")
        self._cut_off[name] = self._world.loop.time() + seconds

    # --- what it is asked -----------------------------------------------------------------------------------

    async def ask(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Raises `Away`; or is never answered, for all that whoever asks knows."""
        asked = self._world.outside(self._answer(name, self.fate(name), work), "redis")
        answer = await asyncio.shield(asked)
        if answer is None:
            raise Away("the connection is gone")
        return answer[0]

    def fate(self, name: str) -> Fate:
        """What becomes of a question that is asked now, by who is called so."""
        drawn = self._chance.random() if self._stormy() else 1.0
        for fate, odds in ODDS.items():
            drawn -= odds
            if drawn < 0:
                return fate
        return Fate.ANSWERED

    async def _answer(self, name: str, fate: Fate, work: Callable[[], Awaitable[T]]) -> tuple[T] | None:
        """None: the connection broke. Errors are no use to anybody here: who asked may have gone."""
        await self._wander()
        if self._cut_off.get(name, 0.0) > self._world.loop.time() or fate is Fate.LOST:
            return None
        if fate is Fate.LATE:
            await asyncio.sleep(self._chance.random() * LATEST_SECONDS)
        await asyncio.sleep(max(self._frozen_until - self._world.loop.time(), 0.0))
        answer = await work()
        await self._wander()
        return None if fate is Fate.ANSWER_LOST else (answer,)

    async def _wander(self) -> None:
        await asyncio.sleep(self._chance.random() * self._slowest)

    def _note(self, what: str) -> None:
        self._world.note("redis", what)


class RemoteCache:
    """`engine.cache.Cache`, at the other end of a wire."""

    def __init__(self, redis: SimulatedRedis, name: str, cache: MemoryCache) -> None:
        self._redis, self._name, self._cache = redis, name, cache

    async def put(self, entries: Sequence[Entry]) -> Sequence[bool]:
        return await self._redis.ask(self._name, lambda: self._cache.put(entries))

    async def get(self, keys: Sequence[str]) -> Sequence[Entry | None]:
        return await self._redis.ask(self._name, lambda: self._cache.get(keys))

    async def remove(self, last: Mapping[str, Version]) -> Sequence[bool]:
        return await self._redis.ask(self._name, lambda: self._cache.remove(last))

    async def renew(self, keys: Sequence[str]) -> Sequence[bool]:
        return await self._redis.ask(self._name, lambda: self._cache.renew(keys))


class RemoteLocks:
    """`engine.cache.Locks`, at the other end of a wire."""

    def __init__(self, redis: SimulatedRedis, name: str, locks: MemoryLocks) -> None:
        self._redis, self._name, self._locks = redis, name, locks

    async def acquire(self, executions: Sequence[str]) -> Sequence[bool]:
        return await self._redis.ask(self._name, lambda: self._locks.acquire(executions))

    async def renew(self, executions: Sequence[str]) -> Sequence[bool]:
        return await self._redis.ask(self._name, lambda: self._locks.renew(executions))

    async def release(self, executions: Sequence[str]) -> Sequence[bool]:
        return await self._redis.ask(self._name, lambda: self._locks.release(executions))
