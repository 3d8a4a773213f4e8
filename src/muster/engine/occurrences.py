"""Which occurrences of a schedule are started now: a pure function of the schedule and the time."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from muster.definitions.timetables import Timetable, timetable
from muster.model.schedule import SkipReason, StoredSchedule
from muster.model.workflow import Misfire

# What is late by more was missed: nobody was there to start it.
MISSED_AFTER = timedelta(minutes=1)
# How many missed ones `fire_all` makes up for at most: the latest.
MOST_CAUGHT_UP = 1_000
STARTED_AT_ONCE = 100
_MOMENT = timedelta(microseconds=1)
_REACHES = tuple(timedelta(minutes=2**power) for power in range(28))


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule in the hands of this instance, whose time has come: `due` is the first occurrence that is
    not settled. Every write carries the fence. `is_started`: that occurrence was started, by somebody who did
    not get to say so. `runs`: one of its executions is under way. `failures`: so many failed in a row, as far
    as that matters."""

    stored: StoredSchedule
    due: datetime
    fence: int
    is_started: bool = False
    runs: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Start these, oldest first; then `next_run_at` is the first that is not settled, None if there is none.
    What is skipped, `skipped_at` the last of it, is settled before anything is started, so that whoever goes
    on after a crash starts the same. `holds`: nothing happens before what is under way has ended. `gives_up`:
    switch it off instead."""

    start: tuple[datetime, ...] = ()
    next_run_at: datetime | None = None
    skipped_at: datetime | None = None
    skip_reason: SkipReason | None = None
    holds: bool = False
    gives_up: bool = False


def plan(due: DueSchedule, at: datetime) -> Plan:
    """What to do with a schedule that has been due since `due.due`, at the time `at`."""
    schedule, table = due.stored.schedule, timetable(due.stored.schedule)
    if due.is_started:
        return Plan((due.due,), table.after(due.due))
    if schedule.pause_after_failures is not None and due.failures >= schedule.pause_after_failures:
        return Plan(gives_up=True)
    missed_until = at - MISSED_AFTER
    missed = _made_up_for(table, schedule.misfire, due.due, missed_until)
    if due.due <= missed_until and due.due not in missed:
        following = missed[0] if missed else table.after(missed_until)
        until = missed[0] - _MOMENT if missed else missed_until
        skipped = latest(table, due.due, until, 1) or [due.due]
        return Plan((), following, skipped[-1], SkipReason.MISSED)
    wanted = missed + table.upcoming(max(due.due - _MOMENT, missed_until), STARTED_AT_ONCE, at)
    if not wanted:
        return Plan((), table.after(at))
    if schedule.overlap != "skip":
        start = wanted[:STARTED_AT_ONCE]
        return Plan(tuple(start), table.after(start[-1]))
    if not due.runs:
        # One at a time: whether it is still under way when the next one comes is seen then.
        return Plan((wanted[0],), table.after(wanted[0]))
    if missed and schedule.misfire == "fire_all":
        return Plan(next_run_at=due.due, holds=True)
    return Plan((), table.after(wanted[-1]), wanted[-1], SkipReason.OVERLAP)


def _made_up_for(table: Timetable, misfire: Misfire, since: datetime, until: datetime) -> list[datetime]:
    """Of those that were missed, from `since` to `until`, the ones that are started all the same."""
    match misfire:
        case "fire_all" if until - since < MOST_CAUGHT_UP * table.apart:
            # They are not too many, so that nothing has to be counted: the next ones are enough.
            return table.upcoming(since - _MOMENT, STARTED_AT_ONCE, until)
        case "fire_all":
            return latest(table, since, until, MOST_CAUGHT_UP)
        case "skip":
            return []
        case "fire_once":
            return latest(table, since, until, 1)
        case _:
            assert_never(misfire)


def latest(table: Timetable, since: datetime, until: datetime, most: int) -> list[datetime]:
    """The last occurrences from `since` to `until`, at most so many, oldest first. Looks back further and
    further: of what may have happened millions of times, only the last matter."""
    found: list[datetime] = []
    end = until
    for reach in _REACHES:
        start = max(until - reach, since - _MOMENT)
        before: deque[datetime] = deque(maxlen=most - len(found))
        each = table.after(start)
        while each is not None and each <= end:
            before.append(each)
            each = table.after(each)
        found = [*before, *found]
        if len(found) == most or start < since:
            break
        end = start
    return found
