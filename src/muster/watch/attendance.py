"""Being there for events: said every few seconds, and known to whoever reads what waited meanwhile."""

import asyncio
from typing import Protocol

from muster.engine.bus import Member
from muster.watch.outage import Absence, Backlog, Presence

BEAT_EVERY = 2.0
LOOK_AGAIN = 0.5


class Presences(Protocol):
    async def beat(self) -> Presence | None:
        """Say that events are taken in here; the answer tells since when. None: it is not said yet, since
        nobody can tell whether others were there meanwhile."""
        ...

    async def caught_up(self, presence: Presence) -> None:
        """All that had waited at this return has been read."""
        ...


class Attendance:
    def __init__(self, presences: Presences) -> None:
        self._presences, self._backlog = presences, Backlog()
        self._absence: Absence | None = None
        self._known = asyncio.Event()

    async def beat(self, member: Member) -> float:
        """Say it once; when to come again. `member` is the one that reads what waits."""
        now = await self._presences.beat()
        if now is None:
            return LOOK_AGAIN
        self._absence = now.absence
        self._known.set()
        if self._absence is not None and self._backlog.is_read(self._absence.until, await member.reach()):
            await self._presences.caught_up(now)
        return BEAT_EVERY

    async def absence(self) -> Absence | None:
        """How long nobody was there, while what waited meanwhile is still being read. Whether it is is known
        once it was said that somebody is there again, and not before."""
        await self._known.wait()
        return self._absence
