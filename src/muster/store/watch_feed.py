"""The way in for events: many callers share a transaction, and two transactions are under way at once."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from zlib import crc32

from muster.engine.bus import Position
from muster.model.watching import Event
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.watch_ids import IdBlocks
from muster.store.watch_intake import Intake, Taken, Taking
from muster.store.watch_rules import EXPECTATION_IDS, RUN_IDS, Block, Rules
from muster.watch.posting import TopicNames
from muster.watch.stages import Stage

# More than these wait for others of their size, so that no transaction grows without end.
MANY = 100
MANY_AT_ONCE = 2


class EventFeed:
    """`watch.ports.Events` on a database. The events of a key go one way, and so keep their order."""

    def __init__(
        self,
        database: Database,
        committers: Sequence[GroupCommitter],
        rules: Rules,
        stages: Collection[Stage],
        topics: TopicNames,
        wanted: Callable[[], Collection[str]],
    ) -> None:
        self._committers, self._wanted = committers, wanted
        self._taking = Taking(rules, stages, topics)
        self._run_ids, self._expectation_ids = (
            IdBlocks(database, RUN_IDS),
            IdBlocks(database, EXPECTATION_IDS),
        )
        self._many = [asyncio.Semaphore(MANY_AT_ONCE) for _ in committers]

    async def take(self, events: Sequence[Event], positions: Sequence[Position] = ()) -> Taken:
        """Take events in, each once; durable when this returns. Of those with one name the first is taken.
        With positions, all go one way, so that those are in the transaction that the events are in: nobody
        else brings events of their keys then."""
        if positions:
            return await self._submit(0, events, positions)
        ways: dict[int, list[int]] = {}
        for place, event in enumerate(events):
            ways.setdefault(self._way_of(event), []).append(place)
        taken = await asyncio.gather(
            *(self._submit(way, [events[place] for place in places]) for way, places in ways.items())
        )
        duplicates = [False] * len(events)
        for places, each in zip(ways.values(), taken, strict=True):
            for place, duplicate in zip(places, each.duplicates, strict=True):
                duplicates[place] = duplicate
        return Taken(tuple(duplicates), sum(each.unmatched for each in taken))

    def _way_of(self, event: Event) -> int:
        return crc32(event.correlation_key.encode()) % len(self._committers)

    async def _submit(self, way: int, events: Sequence[Event], positions: Sequence[Position] = ()) -> Taken:
        count = len(events)
        item = Intake(
            events,
            Block(await self._run_ids.take(count), count),
            Block(await self._expectation_ids.take(2 * count), 2 * count),
            positions,
        )
        kind = replace(self._taking, wanted=frozenset(self._wanted()))
        # Each by itself: what one caller's events break is nobody else's.
        alone = object()
        if count < MANY:
            return await self._committers[way].submit(kind, item, alone)
        async with self._many[way]:
            return await self._committers[way].submit(kind, item, alone)
