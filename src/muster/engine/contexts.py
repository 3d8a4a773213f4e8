"""Contexts at hand in a cache, and locks that tell others who is at what: written behind, many at a time.

An execution's step never waits for them. What is to be told is gathered for a moment, in which most of it is
outdated again, and goes in one round trip; an execution that has ended by then was never there. Where the
cache is slow or gone, what is to be told is dropped, but for what is to be removed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, Protocol, TypeAlias, TypeVar

from muster.engine.cache import Away, Cache, Entry, Locks, Version, context_key
from muster.engine.cached_context import Kept, Snapshot, entry_of, kept_of, keys_of, node_entry, snapshot_of
from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.owned import FIRST_FENCE, Checkpoint, OwnedExecution
from muster.engine.ports import Executions
from muster.kit.breaker import Breaker, Left
from muster.kit.loop import Loop

GATHER_SECONDS = 0.02
RENEW_CONTEXTS_EVERY = 3_600.0
AT_ONCE = 500
ENCODED_IN_A_ROW = 50
# So much is kept to be removed while the cache does not work; what is beyond it goes when its time is over.
MOST_GONE = 100_000
# Larger contexts are the database's alone.
MOST_CHARACTERS = 1_048_576

log = logging.getLogger(__name__)
T = TypeVar("T")
What: TypeAlias = Literal["hit", "miss", "stale", "lock_lost"]


class CacheObserver(Protocol):
    def counted(self, what: What, number: int) -> None: ...


class CachedContexts:
    """An `AtHand`. `lock_seconds` is how long a lock holds; it is renewed every third of that.

    Whoever loses a lock is told (`on_loss`) so that it asks the database, which alone decides, whether it is
    still the owner: nothing else follows from it.
    """

    def __init__(
        self, cache: Cache, locks: Locks, breaker: Breaker, observer: CacheObserver, lock_seconds: float
    ) -> None:
        self._cache, self._locks, self._breaker, self._observer = cache, locks, breaker, observer
        self._renew_every = lock_seconds / 3
        self._renew_at = self._renew_contexts_at = 0.0
        self._on_loss: Callable[[], None] = _nobody
        # Executions that are driven here; those that the cache may know of; and those
        # whose lock is this instance's, as far as is known here. (In an order: a simulated run repeats.)
        self._driven: dict[str, Live] = {}
        self._there: dict[str, None] = {}
        self._held: dict[str, None] = {}
        # What is to be told.
        self._pending: dict[str, Snapshot] = {}
        self._nodes: dict[tuple[str, str], tuple[int, JournalRow]] = {}
        self._gone: dict[str, Version] = {}
        self._changed: dict[str, None] = {}
        self._loop = Loop("cache", self.work)

    # --- telling: between the steps of executions -------------------------------------------------------

    def took(self, live: Live) -> None:
        execution = live.facts.id
        self._driven[execution] = live
        self._changed[execution] = None
        if live.fence > FIRST_FENCE:
            self._there[execution] = None  # from whoever had it last
        if live.fence == FIRST_FENCE or live.program.in_cache:
            self.stands(live, (), None)
        self._loop.wake()

    def stands(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        execution = live.facts.id
        if checkpoint is not None and checkpoint.is_final:
            self._end(live)
        else:
            self._pending[execution] = snapshot_of(live, checkpoint)
            self._nodes.update({(execution, row.node): (live.fence, row) for row in rows if not row.item_key})
        self._loop.wake()

    def let_go(self, live: Live) -> None:
        execution = live.facts.id
        if self._driven.get(execution) is live:
            del self._driven[execution]
            self._there.pop(execution, None)
            self._changed[execution] = None
            self._loop.wake()

    def _end(self, live: Live) -> None:
        execution, nodes = live.facts.id, list(live.state.visits)
        self._pending.pop(execution, None)
        for node in nodes:
            self._nodes.pop((execution, node), None)
        # Whoever had it before has left it there; here it may have ended without being driven.
        if live.fence > FIRST_FENCE or execution in self._there:
            self._forget(keys_of(execution, nodes), Version(live.fence, 2 * live.seq + 1))

    def gave_up(self, owned: OwnedExecution, nodes: Sequence[str]) -> None:
        self._forget(keys_of(owned.id, nodes), Version(owned.fence))
        self._loop.wake()

    def _forget(self, keys: Sequence[str], last: Version) -> None:
        self._gone.update(dict.fromkeys(keys, last))
        while len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]

    # --- asking: when executions were claimed -------------------------------------------------------------

    async def filled(
        self, taken: Sequence[OwnedExecution], executions: Executions
    ) -> Sequence[OwnedExecution]:
        light = [owned for owned in taken if owned.is_light]
        if not light:
            return taken
        kept = await self._kept(light)
        right = {owned.id for owned in light if owned.id in kept and kept[owned.id].is_of(owned)}
        self._count(len(light), len(right), len(kept))
        missing = [owned.id for owned in light if owned.id not in right]
        found = await executions.checkpoints(missing) if missing else {}
        full = {owned.id: (kept if owned.id in right else found)[owned.id].fill(owned) for owned in light}
        return [full.get(owned.id, owned) for owned in taken]

    async def recovered(self, taken: Sequence[OwnedExecution]) -> Sequence[OwnedExecution]:
        kept = await self._kept(taken)
        beyond = {owned.id for owned in taken if owned.id in kept and kept[owned.id].is_beyond(owned)}
        self._count(len(taken), len(beyond), len(kept))
        return [kept[owned.id].recover(owned) if owned.id in beyond else owned for owned in taken]

    async def _kept(self, taken: Sequence[OwnedExecution]) -> dict[str, Kept]:
        keys = [context_key(owned.id) for owned in taken]
        try:
            entries = await self._breaker.ask(partial(self._cache.get, keys))
        except Left:
            return {}
        found = {owned.id: kept_of(entry) for owned, entry in zip(taken, entries, strict=True)}
        return {execution: kept for execution, kept in found.items() if kept is not None}

    def _count(self, asked: int, right: int, there: int) -> None:
        self._observer.counted("hit", right)
        self._observer.counted("stale", there - right)
        self._observer.counted("miss", asked - there)

    # --- behind -------------------------------------------------------------------------------------------

    async def run(self, on_loss: Callable[[], None]) -> None:
        """Tell what is to be told until cancelled."""
        self._on_loss = on_loss
        await self._loop.run()

    async def work(self) -> float:
        """One pass: tell what has gathered, and renew what is due."""
        if self._has_news:
            await asyncio.sleep(GATHER_SECONDS)
            await self.tell()
        now = asyncio.get_running_loop().time()
        if now >= self._renew_at:
            self._renew_at = now + self._renew_every
            await self._renew_locks()
        if now >= self._renew_contexts_at:
            self._renew_contexts_at = now + RENEW_CONTEXTS_EVERY
            await self._renew_contexts()
        return 0.0 if self._has_news else max(self._renew_at - now, 0.0)

    async def close(self) -> None:
        """Tell what is left, and hold no lock any longer. What is being told at this moment is told."""
        await self._loop.stop()
        self._driven.clear()
        self._changed.update(self._held)
        await self.tell()

    @property
    def _has_news(self) -> bool:
        can_remove = bool(self._gone) and not self._breaker.rests
        return bool(self._pending or self._nodes or self._changed) or can_remove

    async def tell(self) -> None:
        """Tell what has gathered."""
        pending, self._pending = self._pending, {}
        nodes, self._nodes = self._nodes, {}
        changed, self._changed = self._changed, {}
        if self._breaker.rests:
            _drop(self._held, changed)
            return
        self._there.update(dict.fromkeys(execution for execution in pending if execution in self._driven))
        await self._tell_locks(changed)
        await self._tell_gone()
        entries = await self._entries(pending.values(), nodes)
        for some in _parts(entries):
            await self._ask(partial(self._cache.put, some))

    async def _tell_gone(self) -> None:
        """What was not removed is kept for the next time: nobody else would do it, and what has ended is not
        to be there for a day."""
        for part in _parts(list(self._gone.items())):
            if await self._ask(partial(self._cache.remove, dict(part))) is None:
                return
            for key, last in part:
                if self._gone.get(key) == last:
                    del self._gone[key]

    async def _entries(
        self, pending: Iterable[Snapshot], nodes: dict[tuple[str, str], tuple[int, JournalRow]]
    ) -> list[Entry]:
        entries: list[Entry] = []
        for number, snapshot in enumerate(pending):
            entries += _bounded(partial(entry_of, snapshot))
            if number % ENCODED_IN_A_ROW == 0:
                await asyncio.sleep(0)
        for number, ((execution, _), (fence, row)) in enumerate(nodes.items()):
            entries += _bounded(partial(node_entry, execution, fence, row))
            if number % ENCODED_IN_A_ROW == 0:
                await asyncio.sleep(0)
        return entries

    async def _tell_locks(self, changed: Iterable[str]) -> None:
        release = [each for each in changed if each in self._held and each not in self._driven]
        acquire = [each for each in changed if each in self._driven and each not in self._held]
        _drop(self._held, release)
        for part in _parts(release):
            await self._ask(partial(self._locks.release, part))
        await self._acquire(acquire)

    async def _acquire(self, executions: Sequence[str]) -> None:
        for part in _parts(executions):
            answers = await self._ask(partial(self._locks.acquire, part)) or [False] * len(part)
            self._held.update({each: None for each, mine in zip(part, answers, strict=True) if mine})

    async def _renew_locks(self) -> None:
        """All that are held at once, however many: no lock is to run out while others are renewed."""
        mine = [each for each in self._held if each in self._driven]
        answers = (await self._ask(partial(self._locks.renew, mine)) if mine else None) or [True] * len(mine)
        lost = [each for each, is_mine in zip(mine, answers, strict=True) if not is_mine]
        if lost := [each for each in lost if each in self._driven]:
            _drop(self._held, lost)
            self._observer.counted("lock_lost", len(lost))
            self._on_loss()
        await self._acquire([each for each in self._driven if each not in self._held])

    async def _renew_contexts(self) -> None:
        there = [(each, live) for each, live in self._driven.items() if each in self._there]
        for part in _parts([key for each, live in there for key in keys_of(each, list(live.state.visits))]):
            await self._ask(partial(self._cache.renew, part))

    async def _ask(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """None: it is left alone, or does not work."""
        with suppress(Left):
            return await self._breaker.ask(work)
        return None


def breaker_of(seconds: float, failed: Callable[[], None]) -> Breaker:
    """For whatever cache and locks are asked through."""
    return Breaker("the cache", (Away,), seconds, failed)


def _bounded(make: Callable[[], Entry]) -> list[Entry]:
    """The entry, if it can be made and is not too large."""
    try:
        entry = make()
    except (ValueError, RecursionError):
        return []
    return [entry] if len(entry.text) <= MOST_CHARACTERS else []


def _parts(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE)]


def _drop(held: dict[str, None], gone: Iterable[str]) -> None:
    for each in gone:
        held.pop(each, None)


def _nobody() -> None:
    """Nobody is told."""
