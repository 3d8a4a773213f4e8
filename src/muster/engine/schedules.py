"""Schedules: what people do with them, and the pass that starts what is due."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from muster.definitions.library import Library, NotFound
from muster.definitions.timetables import timetable
from muster.engine.control import Conflict, Control, Start
from muster.engine.limits import limit_of_occurrence
from muster.engine.occurrences import MISSED_AFTER, DueSchedule, Plan, plan
from muster.engine.owned import Begun
from muster.kit.ids import Ids
from muster.model.access import Caller, How, Role
from muster.model.json import JsonObject
from muster.model.once import Once, once
from muster.model.problems import AuthorError
from muster.model.schedule import ScheduleOrigin, ScheduleStatus, StoredSchedule
from muster.model.stored import AuditEntry, Page
from muster.model.workflow import Schedule

CLAIMED_AT_ONCE = 100
LOOK_EVERY = 1.0
SOON = 0.02
# An occurrence is known for so long: until then it is not started a second time, whoever asks.
KNOWN_FOR = timedelta(days=366)
MOST_BACKFILLED = 1_000
# For so many seconds times are worked out before others have their turn.
AT_A_STRETCH = 0.01

log = logging.getLogger(__name__)


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


class Archived(Conflict):
    """Nothing starts an archived workflow by the clock."""

    def __init__(self) -> None:
        super().__init__("The workflow is archived: no schedule starts it before a version is activated")


class Schedules(Protocol):
    """Schedules as they are kept. Every write of people's is one transaction with its audit entry."""

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


class OccurrenceObserver(Protocol):
    """Hears what became of occurrences: `started`, `duplicate`, `overlap`, `missed` or `refused`."""

    def occurred(self, outcome: str, lateness: float | None = None) -> None: ...


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
        begun = await self._control.start(_start(kept, now, "manual"), actor, trigger_id=kept.id)
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
        details = {"from": _utc(first), "to": _utc(last), "started": started, **_because(reason)}
        await self._schedules.note(_audit(kept.id, "backfill", actor, kept.institute_id, details))
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return tuple(zip(times, begun, strict=True))

    async def _backfilled(self, kept: StoredSchedule, time: datetime, actor: Caller, now: datetime) -> Begun:
        key, start = occurrence(kept, time, now), _start(kept, time, "backfill")
        limit = limit_of_occurrence(kept.id, start.context)
        return await self._control.start(start, actor, key, kept.id, limit)

    async def _own(self, schedule_id: str, actor: Caller) -> StoredSchedule:
        kept = await self.get(schedule_id, actor)
        if kept.origin is ScheduleOrigin.DEFINITION:
            raise Conflict("The schedule comes from its workflow's definition: change it there")
        return kept


class OccurrencePass:
    """Starts what is due. A schedule is claimed, its occurrences are started under their keys, and only then
    it moves on: whoever dies in between leaves it due, and what was started is not started again."""

    def __init__(
        self,
        schedules: Schedules,
        control: Control,
        observer: OccurrenceObserver,
        trouble: tuple[type[Exception], ...],
        look_every: float = LOOK_EVERY,
    ) -> None:
        self._schedules, self._control, self._look_every = schedules, control, look_every
        self._observer, self._trouble = observer, trouble

    async def timetable(self) -> float:
        """Start what is due; says after how many seconds to look again."""
        if await self.work():
            return 0.0
        wait = await self._schedules.next_due()
        # What has come due meanwhile may be in somebody's hands at this moment.
        return self._look_every if wait is None else min(max(wait.total_seconds(), SOON), self._look_every)

    async def work(self) -> bool:
        """Deal with some schedules that are due. False: there is nothing more to do now."""
        asked = asyncio.get_running_loop().time()
        claimed = await self._schedules.claim(CLAIMED_AT_ONCE)
        if not claimed.due:
            return False
        plans = await _plans(claimed)
        ended = await asyncio.gather(
            *(self._deal_with(due, planned, claimed.at, asked) for due, planned in plans),
            return_exceptions=True,
        )
        await self._schedules.settle([each for each in ended if isinstance(each, Settled)])
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return any(planned is not None and not planned.holds for _, planned in plans)

    async def _deal_with(self, due: DueSchedule, planned: Plan | None, at: datetime, asked: float) -> Settled:
        if planned is None:
            return Settled(due, None, error="It cannot be told when it is due; the log says more.")
        if planned.skip_reason is not None:
            self._observer.occurred(planned.skip_reason.value)
            log.info("schedule %s left out %s: %s", due.stored.id, planned.skipped_at, planned.skip_reason)
        ran, error = False, None
        for time in planned.start:
            try:
                outcome, error = await self._try(due.stored, time, at)
            except self._trouble:
                raise
            except Exception:
                # The boundary of one occurrence: a mistake in it stops no other schedule. It is tried again
                # while it is not missed, and then no longer: a mistake in it does not stop its own either.
                log.exception("schedule %s: %s could not be started", due.stored.id, time)
                outcome, error = "refused", "It failed unexpectedly; the log says more."
                if at - time < MISSED_AFTER:
                    return Settled(due, Plan(next_run_at=time, holds=True), ran, error)
            ran = ran or error is None
            late = (at - time).total_seconds() + asyncio.get_running_loop().time() - asked
            self._observer.occurred(outcome, max(late, 0.0))
        return Settled(due, planned, ran, error)

    async def _try(self, kept: StoredSchedule, time: datetime, at: datetime) -> tuple[str, str | None]:
        """Start one occurrence. Says what became of it, and why it could not be started, if so."""
        key, start = occurrence(kept, time, at), _start(kept, time, "due")
        limit = limit_of_occurrence(kept.id, start.context)
        try:
            begun = await self._control.start(start, _clock_itself(kept), key, kept.id, limit)
        except (Conflict, NotFound, AuthorError) as refused:
            return "refused", str(refused)
        return "duplicate" if begun.duplicate else "started", None


async def _plans(claimed: Claimed) -> list[tuple[DueSchedule, Plan | None]]:
    """What to do with each. None: it cannot be told. After a long absence this takes a while, so others have
    their turn in between."""
    loop, plans = asyncio.get_running_loop(), []
    since = loop.time()
    for due in claimed.due:
        plans.append((due, _planned(due, claimed.at)))
        if loop.time() - since >= AT_A_STRETCH:
            await asyncio.sleep(0)
            since = loop.time()
    return plans


def _planned(due: DueSchedule, at: datetime) -> Plan | None:
    try:
        return plan(due, at)
    except Exception:
        # The boundary of one schedule: a zone that is not known any more, say, stops no other.
        log.exception("schedule %s: it cannot be told when it is due", due.stored.id)
        return None


def occurrence(kept: StoredSchedule, time: datetime, now: datetime) -> Once:
    """What makes an occurrence start once."""
    parts = ("schedule", kept.id, _utc(time))
    return once(kept.institute_id, kept.workflow_id, parts, expires_at=max(time, now) + KNOWN_FOR)


def _start(kept: StoredSchedule, time: datetime, reason: str) -> Start:
    shown = timetable(kept.schedule).shown(time)
    payload: JsonObject = {
        "triggerType": "schedule",
        "scheduleId": kept.id,
        "scheduledTime": _utc(time),
        "localTime": shown.isoformat(),
        "timezone": kept.schedule.timezone,
        "reason": reason,
        "overlap": kept.schedule.overlap,
    }
    return Start(kept.workflow_id, {"_trigger": payload})


def _utc(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _clock_itself(kept: StoredSchedule) -> Caller:
    """Whoever made the schedule was let in then; here only whose workflows are seen counts."""
    return Caller("schedule", frozenset({Role.OPERATOR}), kept.institute_id or None, How.TOKEN)


def _no_schedule(schedule_id: str) -> NotFound:
    return NotFound(f"There is no schedule {schedule_id[:200]!r}")


def _because(reason: str) -> JsonObject:
    return {"reason": reason} if reason else {}


def _audit(
    schedule_id: str, action: str, actor: Caller, tenant: str, details: JsonObject | None = None
) -> AuditEntry:
    return AuditEntry("workflow_schedule", schedule_id, action, actor.name, tenant, details or {})
