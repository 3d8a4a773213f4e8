"""Which occurrences of a schedule are started: what was missed, what overlaps, and clocks that jump."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.definitions.timetables import timetable
from muster.engine.occurrences import (
    MISSED_AFTER,
    MOST_CAUGHT_UP,
    STARTED_AT_ONCE,
    DueSchedule,
    Plan,
    latest,
    plan,
)
from muster.model.schedule import ScheduleOrigin, SkipReason, StoredSchedule
from muster.model.workflow import Schedule

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def due(at: datetime = NOON, cron: str = "*/10 * * * *", **facts: object) -> DueSchedule:
    held = {name: facts.pop(name) for name in ("runs", "failures", "is_started") if name in facts}
    schedule = Schedule("CRON", cron_expression=cron, **facts)  # type: ignore[arg-type]  # as each test says
    stored = StoredSchedule(
        "s", "w", "", ScheduleOrigin.API, schedule, at, None, None, None, None, NOON, NOON, NOON, 1
    )
    return DueSchedule(stored, at, 1, **held)  # type: ignore[arg-type]  # likewise


def settled(first: DueSchedule, at: datetime) -> tuple[list[datetime], list[SkipReason | None]]:
    """What is started and why something is left out, pass by pass, until nothing is due. Each has ended when
    the next is looked at."""
    started: list[datetime] = []
    skips: list[SkipReason | None] = []
    now = first
    while now.due <= at:
        planned = plan(now, at)
        started += planned.start
        skips += [planned.skip_reason] if planned.skip_reason else []
        if planned.next_run_at is None:
            break
        now = DueSchedule(now.stored, planned.next_run_at, now.fence)
    return started, skips


def test_what_is_due_is_started_and_the_next_is_known() -> None:
    assert plan(due(), NOON + timedelta(milliseconds=3)) == Plan((NOON,), NOON + 10 * MINUTE)


@pytest.mark.parametrize(
    ("misfire", "started"),
    [
        ("fire_once", [NOON + 2 * HOUR]),
        ("skip", []),
        ("fire_all", [NOON + 10 * place * MINUTE for place in range(13)]),
    ],
)
def test_what_was_missed_while_everything_was_down(misfire: str, started: list[datetime]) -> None:
    found, skips = settled(due(misfire=misfire), NOON + 2 * HOUR + 5 * MINUTE)
    assert found == started
    assert skips == ([] if misfire == "fire_all" else [SkipReason.MISSED])


@pytest.mark.parametrize("misfire", ["fire_once", "skip", "fire_all"])
def test_what_is_late_by_less_than_a_minute_was_not_missed(misfire: str) -> None:
    found, skips = settled(due(cron="*/20 * * * * *", misfire=misfire), NOON + timedelta(seconds=45))
    assert found == [NOON + timedelta(seconds=each) for each in (0, 20, 40)]
    assert skips == []


def test_what_is_late_by_a_minute_was_missed() -> None:
    assert plan(due(misfire="skip"), NOON + MINUTE).skip_reason is SkipReason.MISSED
    assert plan(due(misfire="skip"), NOON + MINUTE - timedelta(microseconds=1)).start == (NOON,)


def test_of_very_many_that_were_missed_the_latest_are_made_up_for() -> None:
    every_second = due(cron="* * * * * *", misfire="fire_all", overlap="allow")
    month_later = NOON + timedelta(days=31)
    left_out = plan(every_second, month_later)
    assert left_out.skip_reason is SkipReason.MISSED
    assert left_out.next_run_at == month_later - MISSED_AFTER - timedelta(seconds=MOST_CAUGHT_UP - 1)
    first = plan(DueSchedule(every_second.stored, left_out.next_run_at, 1), month_later)
    assert len(first.start) == STARTED_AT_ONCE


@pytest.mark.parametrize("overlap", ["skip", "allow", "queue"])
@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("misfire", ["fire_once", "skip", "fire_all"])
def test_every_overlap_with_every_misfire(overlap: str, runs: bool, misfire: str) -> None:
    on_time = plan(due(overlap=overlap, runs=runs, misfire=misfire), NOON + timedelta(seconds=1))
    missed = plan(due(overlap=overlap, runs=runs, misfire=misfire), NOON + 5 * MINUTE)
    if overlap == "skip" and runs:
        assert on_time == Plan((), NOON + 10 * MINUTE, NOON, SkipReason.OVERLAP)
    else:
        assert on_time == Plan((NOON,), NOON + 10 * MINUTE)
    if misfire == "skip":
        assert missed == Plan((), NOON + 10 * MINUTE, NOON, SkipReason.MISSED)
    elif overlap == "skip" and runs and misfire == "fire_all":
        assert missed == Plan((), NOON, holds=True)
    elif overlap == "skip" and runs:
        assert missed == Plan((), NOON + 10 * MINUTE, NOON, SkipReason.OVERLAP)
    else:
        assert missed == Plan((NOON,), NOON + 10 * MINUTE)


def test_what_was_started_by_somebody_who_died_does_not_overlap_with_itself() -> None:
    assert plan(due(runs=True, is_started=True), NOON) == Plan((NOON,), NOON + 10 * MINUTE)


def test_the_next_of_a_schedule_that_skips_is_looked_at_for_itself() -> None:
    assert plan(due(cron="* * * * * *"), NOON + timedelta(seconds=9)).start == (NOON,)


def test_after_failures_in_a_row_it_gives_up() -> None:
    assert plan(due(pause_after_failures=3, failures=3), NOON).gives_up
    assert plan(due(pause_after_failures=3, failures=2), NOON).start == (NOON,)
    assert plan(due(failures=100), NOON).start == (NOON,)


def test_the_last_time_is_the_last() -> None:
    assert plan(due(end_date="2026-03-04T12:00:00"), NOON) == Plan((NOON,), None)


def test_a_clock_that_jumps_forward_is_like_having_been_away() -> None:
    found, _ = settled(due(), NOON + timedelta(milliseconds=1))
    assert found == [NOON]
    after_jump, _ = settled(due(NOON + 10 * MINUTE), NOON + 2 * HOUR + 10 * MINUTE)
    assert after_jump == [NOON + 2 * HOUR, NOON + 2 * HOUR + 10 * MINUTE]


@pytest.mark.parametrize("cron", ["* * * * * *", "*/7 * * * *", "0 0 1 1 *", "0 0 29 2 *", "0 0 * * MON#5"])
def test_the_latest_are_found_without_going_through_all(cron: str) -> None:
    table = timetable(Schedule("CRON", cron_expression=cron))
    since, until = NOON - timedelta(days=800), NOON
    assert latest(table, since, until, 1) == latest(table, since, until, 3)[-1:]
    if cron != "* * * * * *":
        every = table.upcoming(since - timedelta(microseconds=1), 200_000)
        assert latest(table, since, until, 4) == [each for each in every if each <= until][-4:]


@pytest.mark.parametrize(
    ("misfire", "last"), [("skip", NOON - 10 * MINUTE), ("fire_once", NOON - 20 * MINUTE)]
)
def test_of_what_an_outage_left_out_the_last_is_told(misfire: str, last: datetime) -> None:
    planned = plan(due(NOON - 3 * HOUR, misfire=misfire), NOON)
    assert (planned.skip_reason, planned.skipped_at) == (SkipReason.MISSED, last)
