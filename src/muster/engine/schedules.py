"""Schedules as they are kept: what people need of that, and what the pass that fires them needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from muster.engine.control import Conflict
from muster.engine.occurrences import DueSchedule, Plan
from muster.model.schedule import ScheduleStatus, StoredSchedule
from muster.model.stored import AuditEntry, Page
from muster.model.workflow import Schedule


class Archived(Conflict):
    """Nothing starts an archived workflow by the clock."""

    def __init__(self) -> None:
        super().__init__("The workflow is archived: no schedule starts it before a version is activated")


class Schedules(Protocol):
    """What people do with schedules: each write is one transaction with its audit entry."""

    async def create(
        self, schedule_id: str, workflow_id: str, institute_id: str, schedule: Schedule, audit: AuditEntry
    ) -> StoredSchedule:
        """Raises `Archived`."""
        ...

    async def replace(
        self, schedule_id: str, schedule: Schedule, keeps: bool, expected: int | None, audit: AuditEntry
    ) -> bool:
        """Write it anew with version + 1, to fire after now; on or off as the schedule says or, if it keeps
        that, as it is. False: there is none that was made through the API. Raises `Stale`, and
        `Archived` for one that would be on."""
        ...

    async def delete(self, schedule_id: str, audit: AuditEntry) -> bool:
        """False: there is none that was made through the API."""
        ...

    async def switch(self, schedule_id: str, status: ScheduleStatus, audit: AuditEntry) -> bool:
        """On, to fire after now, or off. False: there is none, or it has no time left. Raises `Archived` for
        one that would be on."""
        ...

    async def get(self, institute_id: str | None, schedule_id: str) -> StoredSchedule | None: ...

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        workflow_id: str | None = None,
        status: ScheduleStatus | None = None,
    ) -> tuple[Sequence[StoredSchedule], str | None]: ...

    async def ran(self, schedule_id: str, audit: AuditEntry) -> None:
        """It was started by hand just now."""
        ...

    async def note(self, audit: AuditEntry) -> None:
        """Write down what somebody did with it that changes nothing of it."""
        ...


@dataclass(frozen=True, slots=True)
class Claimed:
    """Schedules that this instance has taken up, and when that was by the database's clock."""

    at: datetime
    due: Sequence[DueSchedule]


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a schedule that was due. `plan` None: what is due of it cannot be told, and it is left
    alone for a while. `ran`: something was started. `error`: why the last that was to be started could not
    be."""

    due: DueSchedule
    plan: Plan | None
    ran: bool = False
    error: str | None = None


class DueSchedules(Protocol):
    """Schedules whose time has come, in one instance's hands at a time."""

    async def claim(self, most: int) -> Claimed:
        """Take schedules whose time has come and that nobody else is busy with, for a moment: whoever goes
        away in the middle leaves them to the others."""
        ...

    async def settle(self, settled: Sequence[Settled]) -> None:
        """Write down what became of them, and let go. What has another fence by now is left alone."""
        ...

    async def next_due(self) -> timedelta | None:
        """How long it is, by the database's clock, until the next one's time comes; nothing, or less, for one
        whose time has come and that nobody has claimed. None: there is none."""
        ...
