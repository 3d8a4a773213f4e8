"""The embedded bus: `engine.bus.Bus` on the tables of the database."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import TypeVar

from sqlalchemy import Connection

from muster.engine.bus import BusAway, Message, Outgoing, Place, Reach
from muster.kit.changes import Changes
from muster.store.bus_leases import (
    Claimant,
    Lease,
    claim,
    heads_and_living,
    leave,
    living,
    reach,
    record_ends,
    renew,
)
from muster.store.bus_log import PARTITIONS, Publishing, read_messages
from muster.store.committer import TROUBLE, GroupCommitter
from muster.store.database import Database, Work

T = TypeVar("T")

LOOK_EVERY = 1.0


class EmbeddedBus:
    """`owner` is the name of this process among those that share the database, and its earlier selves are all
    whose names begin with `earlier`: what they held is free."""

    def __init__(
        self, database: Database, committer: GroupCommitter, owner: str, earlier: str, lease: timedelta
    ) -> None:
        self._database, self._committer, self._publishing = database, committer, Publishing()
        self._owner, self._earlier, self._lease = owner, earlier, lease
        self._changes = Changes()

    async def publish(self, messages: Sequence[Outgoing]) -> Sequence[tuple[Place, int]]:
        if not messages:
            return []
        try:
            put = await self._committer.submit(self._publishing, messages, object())
        except TROUBLE as away:
            raise BusAway(str(away)) from away
        self.tell({message.topic for message in messages})
        return put

    def tell(self, topics: Collection[str]) -> None:
        """Messages of these topics were committed: who waits for them here looks at once."""
        for topic in topics:
            self._changes.tell(topic)

    def member(self, group: str) -> "EmbeddedMember":
        claimant = Claimant(group, self._owner, self._earlier, self._lease)
        return EmbeddedMember(self._database, claimant, self._changes)

    async def make(self, topics: Collection[str]) -> None:
        """A topic is there once something is published to it."""

    async def check(self) -> None:
        """It is there if the database is, which is asked by itself."""


class EmbeddedMember:
    """`engine.bus.Member`: looks for messages when some are published in this process, and every second for
    those of others."""

    def __init__(self, database: Database, claimant: Claimant, changes: Changes) -> None:
        self._database, self._claimant, self._changes = database, claimant, changes
        self._topics: frozenset[str] = frozenset()
        self._leases: dict[Place, Lease] = {}
        self._next: dict[Place, int] = {}
        self._recorded: dict[Place, int] = {}
        self._heads: dict[Place, int] = {}
        self._fetched: set[Place] = set()
        self._members: Mapping[str, int] = {}
        self._leased_at = float("-inf")

    @property
    def group(self) -> str:
        return self._claimant.group

    async def subscribe(self, topics: Collection[str]) -> None:
        self._topics = frozenset(topics)
        self._leased_at = float("-inf")

    async def fetch(self, most: int, patience: float) -> Sequence[Message]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        with ExitStack() as stack:
            heard = stack.enter_context(self._changes.listening(*self._topics))
            while True:
                heard.clear()
                await self._look()
                if messages := await self._read(most):
                    return messages
                remaining = deadline - loop.time()
                if remaining <= 0:
                    return []
                await _either(heard, min(remaining, LOOK_EVERY))

    async def hold(self) -> None:
        began = asyncio.get_running_loop().time()
        if not self._is_time(began):
            return
        held = await self._write(lambda connection: renew(connection, self._claimant, self._topics))
        for place, lease in list(self._leases.items()):
            if (place, lease.fence) not in held:
                self._forget(place)
        self._leased_at = began

    def owns(self, place: Place) -> bool:
        # Whatever the time is: until another has taken it, the fence is this member's.
        return place in self._fetched

    async def record(self, ends: Mapping[Place, int]) -> None:
        leases = [self._leases[place] for place in ends if place in self._fetched]
        if leases:
            await self._write(lambda connection: record_ends(connection, self.group, leases, ends))
            self._recorded |= {lease.place: ends[lease.place] for lease in leases}

    async def lag(self) -> Mapping[Place, int]:
        return {
            place: max(0, self._heads.get(place, 0) - self._recorded.get(place, 0)) for place in self._leases
        }

    async def reach(self) -> Mapping[Place, Reach] | None:
        topics = sorted(self._topics)
        return await self._seen(lambda connection: reach(connection, self.group, topics)) if topics else None

    async def leave(self) -> None:
        for place in list(self._leases):
            self._forget(place)
        await self._write(lambda connection: leave(connection, self._claimant))

    # --- looking -------------------------------------------------------------------------------------

    def _is_time(self, now: float) -> bool:
        return now - self._leased_at >= self._claimant.lease.total_seconds() / 3

    async def _look(self) -> None:
        """Where messages end now; and who shares the partitions, if that has changed or leases want
        renewing."""
        began = asyncio.get_running_loop().time()
        topics = sorted(self._topics)
        self._heads, members = await self._seen(
            lambda connection: heads_and_living(connection, self._claimant, topics), single=True
        )
        if members != self._members or self._has_too_little() or self._is_time(began):
            await self._share(began)

    def _has_too_little(self) -> bool:
        """Whether some of what should be this member's is another's still: the other lets go of it soon."""
        held = Counter(place.topic for place in self._leases)
        return any(held[topic] < PARTITIONS // members for topic, members in self._members.items())

    async def _share(self, began: float) -> None:
        topics = self._topics

        def work(connection: Connection) -> tuple[list[Lease], Mapping[str, int]]:
            leases = claim(connection, self._claimant, topics)
            return leases, living(connection, self._claimant, topics)

        leases, self._members = await self._write(work)
        kept = {lease.place for lease in leases if self._is_held(lease)}
        for place in self._leases.keys() - kept:
            self._forget(place)
        for lease in leases:
            if lease.place not in kept:
                self._leases[lease.place] = lease
                self._next[lease.place] = self._recorded[lease.place] = lease.position
        self._leased_at = began

    def _is_held(self, lease: Lease) -> bool:
        held = self._leases.get(lease.place)
        return held is not None and held.fence == lease.fence

    def _forget(self, place: Place) -> None:
        del self._leases[place], self._next[place], self._recorded[place]
        self._fetched.discard(place)

    async def _read(self, most: int) -> Sequence[Message]:
        wanted = {place: offset for place, offset in self._next.items() if offset < self._heads.get(place, 0)}
        if not wanted:
            return []
        messages = await self._seen(lambda connection: read_messages(connection, wanted, most))
        for message in messages:
            self._next[message.place] = message.offset + 1
        # Those without one have had theirs removed by retention, or are as they were fetched before.
        self._fetched |= {message.place for message in messages}
        return messages

    async def _seen(self, work: Work[T], *, single: bool = False) -> T:
        try:
            return await self._database.read(work, single=single)
        except TROUBLE as away:
            raise BusAway(str(away)) from away

    async def _write(self, work: Work[T]) -> T:
        try:
            return await self._database.write(work)
        except TROUBLE as away:
            raise BusAway(str(away)) from away


async def _either(heard: asyncio.Event, seconds: float) -> None:
    """Until something is heard, or so many seconds have passed."""
    try:
        async with asyncio.timeout(seconds):
            await heard.wait()
    except TimeoutError:
        return
