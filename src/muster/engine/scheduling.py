"""What people do with schedules."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from muster.definitions.library import Library, NotFound
from muster.definitions.timetables import timetable
from muster.engine.control import Conflict, Control
from muster.engine.occurrence_starts import (
    Why,
    key_of_occurrence,
    limit_of_occurrence,
    start_of_occurrence,
    utc_text,
)
from muster.engine.owned import Begun
from muster.engine.schedules import Schedules
from muster.kit.ids import Ids
from muster.model.access import Caller
from muster.model.json import JsonObject
from muster.model.schedule import ScheduleOrigin, ScheduleStatus, StoredSchedule
from muster.model.stored import AuditEntry, Page
from muster.model.workflow import Schedule

MOST_BACKFILLED = 1_000


class Scheduling:
    """What people do with schedules."""

    def __init__(
        self, schedules: Schedules, control: Control, library: Library, ids: Ids, wake: Callable[[], None]
    ) -> None:
        self._schedules, self._control, self._library = schedules, control, library
        self._ids, self._wake = ids, wake

    async def create(self, workflow: str, schedule: Schedule, actor: Caller) -> StoredSchedule:
        """Raises `NotFound` if there is no such workflow, `Archived` if it is."""
        found, schedule_id = await self._library.workflow(workflow, actor), self._ids.new()
        audit = _audit(schedule_id, "create", actor, found.institute_id)
        made = await self._schedules.create(schedule_id, found.id, found.institute_id, schedule, audit)
        self._wake()
        return made

    async def replace(
        self,
        schedule_id: str,
        schedule: Schedule,
        actor: Caller,
        expected: int | None = None,
        keeps_status: bool = False,
    ) -> StoredSchedule:
        """Raises `Conflict` for one that comes from a definition, `Archived`, `Stale` if `expected` is not
        its version any more."""
        kept = await self._own(schedule_id, actor)
        audit = _audit(schedule_id, "replace", actor, kept.institute_id)
        if not await self._schedules.replace(schedule_id, schedule, keeps_status, expected, audit):
            raise _no_schedule(schedule_id)
        self._wake()
        return await self.get(schedule_id, actor)

    async def delete(self, schedule_id: str, actor: Caller) -> None:
        """Raises `Conflict` for one that comes from a definition."""
        kept = await self._own(schedule_id, actor)
        if not await self._schedules.delete(
            schedule_id, _audit(schedule_id, "delete", actor, kept.institute_id)
        ):
            raise _no_schedule(schedule_id)

    async def switch(
        self, schedule_id: str, status: ScheduleStatus, actor: Caller, reason: str = ""
    ) -> StoredSchedule:
        """On or off. What would have fired while it was off is not made up for. Raises `Conflict` if it has
        no time left, `Archived`."""
        kept = await self.get(schedule_id, actor)
        action = "activate" if status is ScheduleStatus.ACTIVE else "deactivate"
        audit = _audit(schedule_id, action, actor, kept.institute_id, _because(reason))
        if not await self._schedules.switch(schedule_id, status, audit):
            await self.get(schedule_id, actor)
            raise Conflict("The schedule has no time left: its `endDate` is over")
        self._wake()
        return await self.get(schedule_id, actor)

    async def get(self, schedule_id: str, actor: Caller) -> StoredSchedule:
        found = await self._schedules.get(actor.institute_id, schedule_id)
        if found is None:
            raise _no_schedule(schedule_id)
        return found

    async def list(
        self, actor: Caller, page: Page, workflow: str | None = None, status: ScheduleStatus | None = None
    ) -> tuple[Sequence[StoredSchedule], str | None]:
        workflow_id = None if workflow is None else (await self._library.workflow(workflow, actor)).id
        return await self._schedules.list(actor.institute_id, page, workflow_id, status)

    async def run(self, schedule_id: str, actor: Caller, now: datetime, reason: str = "") -> Begun:
        """Start its workflow now, whatever its times and whatever is under way."""
        kept = await self.get(schedule_id, actor)
        start = start_of_occurrence(kept, now, Why.MANUAL)
        begun = await self._control.start(start, actor, trigger_id=kept.id)
        details = {"executionId": begun.id, **_because(reason)}
        await self._schedules.ran(schedule_id, _audit(kept.id, "run", actor, kept.institute_id, details))
        return begun

    async def backfill(
        self,
        schedule_id: str,
        first: datetime,
        last: datetime,
        actor: Caller,
        now: datetime,
        reason: str = "",
    ) -> Sequence[tuple[datetime, Begun]]:
        """Start what it names from `first` to `last`, both included, oldest first. Durable when this returns.
        What was started before, by the clock or by hand, is not started again. Raises `Conflict` for more
        than `MOST_BACKFILLED`."""
        kept = await self.get(schedule_id, actor)
        table = timetable(kept.schedule)
        times = table.upcoming(first - timedelta(microseconds=1), MOST_BACKFILLED + 1, last)
        if len(times) > MOST_BACKFILLED:
            raise Conflict(f"There are more than {MOST_BACKFILLED} times in that range: take a shorter one")
        starts = (self._backfilled(kept, each, actor, now) for each in times)
        ended = await asyncio.gather(*starts, return_exceptions=True)
        begun = [each for each in ended if not isinstance(each, BaseException)]
        # Also if some could not be started: the others were.
        started = sum(not each.duplicate for each in begun)
        details = {"from": utc_text(first), "to": utc_text(last), "started": started, **_because(reason)}
        await self._schedules.note(_audit(kept.id, "backfill", actor, kept.institute_id, details))
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return tuple(zip(times, begun, strict=True))

    async def _backfilled(self, kept: StoredSchedule, time: datetime, actor: Caller, now: datetime) -> Begun:
        key, start = key_of_occurrence(kept, time, now), start_of_occurrence(kept, time, Why.BACKFILL)
        limit = limit_of_occurrence(kept.id, start.context)
        return await self._control.start(start, actor, key, kept.id, limit)

    async def _own(self, schedule_id: str, actor: Caller) -> StoredSchedule:
        kept = await self.get(schedule_id, actor)
        if kept.origin is ScheduleOrigin.DEFINITION:
            raise Conflict("The schedule comes from its workflow's definition: change it there")
        return kept


def _no_schedule(schedule_id: str) -> NotFound:
    return NotFound(f"There is no schedule {schedule_id[:200]!r}")


def _because(reason: str) -> JsonObject:
    return {"reason": reason} if reason else {}


def _audit(
    schedule_id: str, action: str, actor: Caller, tenant: str, details: JsonObject | None = None
) -> AuditEntry:
    return AuditEntry("workflow_schedule", schedule_id, action, actor.name, tenant, details or {})
