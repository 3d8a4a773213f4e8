"""After a long absence little has to be looked at, however much was missed."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from muster.definitions.timetables import Timetable, timetable
from muster.engine.occurrences import MOST_CAUGHT_UP, STARTED_AT_ONCE, DueSchedule, Plan, plan
from muster.model.schedule import ScheduleOrigin, SkipReason, StoredSchedule
from muster.model.workflow import Schedule

SINCE = datetime(2026, 3, 4, 12, tzinfo=UTC)
BACK = SINCE + timedelta(days=200)
CRONS = ("* * * * *", "*/5 * * * *", "*/30 * * * * *", "* * * * * *", "0 * * * *")


def planned(schedule: Schedule, due: datetime) -> Plan:
    stored = StoredSchedule(
        "s", "w", "", ScheduleOrigin.API, schedule, due, None, None, None, None, SINCE, SINCE, SINCE, 1
    )
    return plan(DueSchedule(stored, due, 1), BACK)


@pytest.mark.parametrize("cron", CRONS)
def test_planning_looks_at_few_times(cron: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, after = 0, Timetable.after

    def counted(table: Timetable, moment: datetime) -> datetime | None:
        nonlocal looks
        looks += 1
        return after(table, moment)

    monkeypatch.setattr(Timetable, "after", counted)
    schedule = Schedule("CRON", cron_expression=cron, misfire="fire_all", overlap="allow")
    first = planned(schedule, SINCE)
    assert (first.start, first.skip_reason) == ((), SkipReason.MISSED)
    assert looks < 2.2 * MOST_CAUGHT_UP
    assert first.next_run_at is not None
    looks = 0
    assert len(planned(schedule, first.next_run_at).start) == STARTED_AT_ONCE
    assert looks < 2.2 * STARTED_AT_ONCE


@pytest.mark.parametrize(
    "facts",
    [
        *({"cron_expression": each} for each in CRONS),
        {"cron_expression": "58,3 9,10 * * *"},
        {"cron_expression": "0 23,0 * * *"},
        {"cron_expression": "50,5 * 12 1 * *"},
        {"interval_minutes": 7},
        {"day_of_month": 31},
    ],
)
def test_times_are_as_far_apart_as_is_said(facts: dict[str, object]) -> None:
    table = timetable(Schedule("CRON", **facts))  # type: ignore[arg-type]  # as each case says
    times = table.upcoming(SINCE, 500)
    assert min(later - each for each, later in pairwise(times)) == table.apart
