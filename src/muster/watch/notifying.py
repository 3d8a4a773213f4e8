"""Telling people: alerts are put into incidents, and each incident is told once.

Being told is being handed to whoever listens (workflows that alerts start) under a key of its own, before it
is noted: whoever dies in between is repeated, and recognised.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from muster.model.json import JsonObject
from muster.model.stored import Page
from muster.model.watching import Severity

MOST_PLACED = 5_000
MOST_TOLD = 100
# How many times as long a further incident of a workflow waits.
FURTHER = 10


class IncidentState(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Incident:
    """One cause and its alerts. `group_hash` None: it is of all groups of its node."""

    id: int
    institute_id: str
    workflow_id: str
    workflow_key: str
    workflow_version_id: int
    node: str
    group_hash: str | None
    group: JsonObject | None
    reason: str
    severity: Severity
    state: IncidentState
    count: int
    first_triggered_at: datetime
    last_triggered_at: datetime
    notified_at: datetime | None
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class WantedIncidents:
    """`workflow` is a workflow's id or key."""

    state: IncidentState | None = None
    workflow: str | None = None


class IncidentBook(Protocol):
    async def place(self, limit: int) -> int:
        """Put alerts that are in no incident yet into one; how many there were."""
        ...

    async def close(self) -> int:
        """End the incidents whose alerts are all resolved; how many there were."""
        ...

    async def untold(self, wait: timedelta, longer: timedelta, limit: int) -> Sequence[Incident]:
        """Open ones, with an open alert, that nobody was told of, and that are at least so old: `longer`, if
        another of the same workflow is open that was told a moment ago, or comes first. It may turn out to
        be part of that one."""
        ...

    async def told(self, incident_ids: Collection[int]) -> None: ...

    async def list(
        self, institute_id: str | None, wanted: WantedIncidents, page: Page
    ) -> tuple[Sequence[Incident], str | None]:
        """Newest first, and the cursor of the next page. Raises `BadCursor`."""
        ...


class Suppressions(Protocol):
    async def end_suppressions(self) -> int:
        """Open the alerts that were suppressed until now; how many there were."""
        ...


Tell = Callable[[Incident], Awaitable[None]]


class Notifying:
    """A pass over alerts and incidents. `wait` is how long an incident gathers alerts before it is told."""

    def __init__(
        self, book: IncidentBook, suppressions: Suppressions, tell: Tell, wait: timedelta, every: float
    ) -> None:
        self._book, self._suppressions, self._tell = book, suppressions, tell
        self._wait, self._every = wait, every

    async def look(self) -> float:
        """Do what there is to do; when to look again, in seconds."""
        await self._suppressions.end_suppressions()
        placed = await self._book.place(MOST_PLACED)
        if placed == MOST_PLACED:
            return 0.0  # all of one cause are to be together before anybody hears of it
        await self._book.close()
        untold = await self._book.untold(self._wait, self._wait * FURTHER, MOST_TOLD)
        for incident in untold:
            await self._tell(incident)
        if untold:
            await self._book.told([incident.id for incident in untold])
        return 0.0 if len(untold) == MOST_TOLD else self._every
