"""The pass that starts what schedules name, when its time has come."""

import asyncio
import logging
from datetime import datetime
from typing import Protocol

from muster.definitions.library import NotFound
from muster.engine.control import Conflict, Control
from muster.engine.occurrence_starts import Why, key_of_occurrence, limit_of_occurrence, start_of_occurrence
from muster.engine.occurrences import MISSED_AFTER, DueSchedule, Plan, plan
from muster.engine.schedules import Claimed, DueSchedules, Settled
from muster.model.access import Caller, How, Role
from muster.model.problems import AuthorError
from muster.model.schedule import StoredSchedule

CLAIMED_AT_ONCE = 100
LOOK_EVERY = 1.0
SOON = 0.02
# For so many seconds times are worked out before others have their turn.
AT_A_STRETCH = 0.01

log = logging.getLogger(__name__)


class OccurrenceObserver(Protocol):
    """Hears what became of occurrences: `started`, `duplicate`, `overlap`, `missed` or `refused`."""

    def occurred(self, outcome: str, lateness: float | None = None) -> None: ...


class OccurrencePass:
    """Starts what is due. A schedule is claimed, its occurrences are started under their keys, and only then
    it moves on: whoever dies in between leaves it due, and what was started is not started again."""

    def __init__(
        self,
        schedules: DueSchedules,
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
        key, start = key_of_occurrence(kept, time, at), start_of_occurrence(kept, time, Why.DUE)
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


def _clock_itself(kept: StoredSchedule) -> Caller:
    """Whoever made the schedule was let in then; here only whose workflows are seen counts."""
    return Caller("schedule", frozenset({Role.OPERATOR}), kept.institute_id or None, How.TOKEN)
