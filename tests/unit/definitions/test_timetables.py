"""When schedules fire: examples, limits, and the same times as another cron library gives."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.definitions.problems import Problems
from muster.definitions.schedules import read_schedule
from muster.definitions.timetables import timetable
from muster.model.workflow import Schedule


def cron(expression: str, zone: str = "UTC", **more: str) -> Schedule:
    return Schedule("CRON", cron_expression=expression, timezone=zone, **more)


def moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def times(schedule: Schedule, after: str, count: int) -> list[str]:
    table = timetable(schedule)
    found = [table.shown(each) for each in table.upcoming(moment(after), count)]
    return [each.isoformat(timespec="minutes") for each in found]


def test_working_days_at_nine_in_kolkata() -> None:
    assert times(cron("0 9 * * MON-FRI", "Asia/Kolkata"), "2024-01-05T03:30", 2) == [
        "2024-01-08T09:00+05:30",
        "2024-01-09T09:00+05:30",
    ]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("end", ["9999-12-31", "9999-12-31T23:59:59"])
def test_the_last_day_of_the_calendar_is_for_ever(end: str, zone: str) -> None:
    problems = Problems()
    every_day = {"scheduleType": "CRON", "cronExpression": "0 9 * * *", "timezone": zone, "endDate": end}
    schedule = read_schedule(every_day, "", problems)
    assert schedule is not None, problems.all
    assert timetable(schedule).after(moment("2026-01-01")) == timetable(cron("0 9 * * *", zone)).after(
        moment("2026-01-01")
    )


def test_a_start_on_the_first_day_of_the_calendar_is_long_past() -> None:
    every_minute = Schedule("INTERVAL", interval_minutes=1, start_date="0001-01-01T00:00:00Z")
    assert times(every_minute, "2026-01-01T00:00", 2) == ["2026-01-01T00:01+00:00", "2026-01-01T00:02+00:00"]


def test_after_is_not_included() -> None:
    table = timetable(cron("0 9 * * *"))
    nine = moment("2024-01-05T09:00")
    assert table.after(nine - timedelta(microseconds=1)) == nine
    assert table.after(nine) == nine + timedelta(days=1)


def test_a_time_that_the_day_does_not_have_comes_when_the_clock_is_changed() -> None:
    assert times(cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00", 2) == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:30+02:00",
    ]


def test_a_time_that_the_day_has_twice_comes_the_first_time() -> None:
    berlin = cron("30 2 * * *", "Europe/Berlin")
    assert times(berlin, "2026-10-24T12:00", 2) == ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]
    assert times(berlin, "2026-10-25T01:15", 1) == ["2026-10-26T02:30+01:00"]


def test_six_fields_follow_the_same_rules() -> None:
    assert times(cron("0 30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00", 1) == ["2026-03-29T03:00+02:00"]
    assert times(cron("*/20 30 2 * * *", "Europe/Berlin"), "2026-10-25T00:30:30", 1) == [
        "2026-10-25T02:30+02:00"
    ]


@pytest.mark.parametrize(("day", "runs"), [("2026-03-28T23:00", 46), ("2026-10-24T22:00", 50)])
def test_every_half_hour_stays_every_half_hour(day: str, runs: int) -> None:
    table = timetable(cron("*/30 * * * *", "Europe/Berlin"))
    found = table.upcoming(moment(day) - timedelta(seconds=1), runs + 1)
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=30)}
    assert table.shown(found[0]).day + 1 == table.shown(found[-1]).day


def test_the_second_pass_of_an_hour_is_not_missed_by_what_is_rare() -> None:
    rare = cron("*/15 2 25 10 *", "Europe/Berlin")
    assert times(rare, "2026-10-25T00:50", 2) == ["2026-10-25T02:00+01:00", "2026-10-25T02:15+01:00"]


def test_intervals_count_real_time_from_their_start() -> None:
    every = Schedule(
        "INTERVAL", interval_minutes=90, start_date="2026-03-29T01:30:00", timezone="Europe/Berlin"
    )
    assert times(every, "2026-01-01", 3) == [
        "2026-03-29T01:30+01:00",
        "2026-03-29T04:00+02:00",
        "2026-03-29T05:30+02:00",
    ]


def test_intervals_without_a_start_are_counted_from_the_epoch() -> None:
    hourly = Schedule("INTERVAL", interval_minutes=60)
    assert times(hourly, "2026-01-01T10:07", 1) == ["2026-01-01T11:00+00:00"]
    rare = Schedule("INTERVAL", interval_minutes=1_000_000)
    assert times(rare, "2026-01-01", 1) == ["2027-01-15T08:00+00:00"], "thirty million minutes after 1970"


def test_a_month_that_is_too_short_has_its_last_day() -> None:
    last = Schedule("MONTHLY", day_of_month=31, time="09:15", timezone="Asia/Kolkata")
    assert times(last, "2024-01-31T12:00", 3) == [
        "2024-02-29T09:15+05:30",
        "2024-03-31T09:15+05:30",
        "2024-04-30T09:15+05:30",
    ]


def test_the_day_a_zone_left_out_is_made_up_for_at_the_start_of_the_next() -> None:
    assert times(cron("0 9 30 12 *", "Pacific/Apia"), "2011-12-29T12:00", 1) == ["2011-12-31T00:00+14:00"]


def test_start_and_end_are_included() -> None:
    daily = cron("0 9 * * *", start_date="2026-03-01T09:00:00", end_date="2026-03-02T09:00:00")
    assert times(daily, "2020-01-01", 9) == ["2026-03-01T09:00+00:00", "2026-03-02T09:00+00:00"]


def test_an_end_without_a_time_is_the_end_of_that_day() -> None:
    daily = cron("0 9 * * *", "Asia/Kolkata", start_date="2026-03-01", end_date="2026-03-02")
    assert len(times(daily, "2020-01-01", 9)) == 2


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
def test_start_and_end_are_what_the_zones_clock_shows(zone: str) -> None:
    nine = {"start_date": "2026-03-02T09:00:00", "end_date": "2026-03-03T09:00:00"}
    later = {"start_date": "2026-03-02T09:00:01", "end_date": "2026-03-03T09:00:00"}
    sooner = {"start_date": "2026-03-02T09:00:00", "end_date": "2026-03-03T08:59:59"}
    days = [
        [each[8:10] for each in times(cron("0 9 * * *", zone, **span), "2020-01-01", 9)]
        for span in (nine, later, sooner)
    ]
    assert days == [["02", "03"], ["03"], ["02"]]
    midnights = cron("0 0 * * *", zone, start_date="2026-03-02", end_date="2026-03-03")
    assert [each[8:10] for each in times(midnights, "2020-01-01", 9)] == ["02", "03"]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_the_last_day_of_the_calendar_is_a_far_end(zone: str) -> None:
    daily = {"type": "CRON", "expression": "0 9 * * *", "timezone": zone, "endDate": "9999-12-31"}
    problems = Problems()
    schedule = read_schedule(daily, "", problems)
    assert problems.all == ()
    assert schedule is not None
    assert len(times(schedule, "2026-03-01", 3)) == 3


def test_an_end_with_an_offset_is_that_moment_whatever_the_zone() -> None:
    daily = cron("0 9 * * *", "Asia/Kolkata", start_date="2026-03-01", end_date="2026-03-02T03:30:00Z")
    assert len(times(daily, "2020-01-01", 9)) == 2


@pytest.mark.parametrize(
    ("expression", "after", "next_time"),
    [
        ("0 0 13 * FRI", "2026-11-07", "2026-11-13T00:00+00:00"),
        ("0 0 13 * FRI", "2026-11-13T00:00", "2026-11-20T00:00+00:00"),
        ("0 0 */2 * MON", "2026-11-15T00:00", "2026-11-16T00:00+00:00"),
        ("0 0 L * *", "2024-02-01", "2024-02-29T00:00+00:00"),
        ("0 0 L,15 2 *", "2026-01-01", "2026-02-15T00:00+00:00"),
        ("0 0 31,L 2 *", "2026-01-01", "2026-02-28T00:00+00:00"),
        ("0 0 * * 5L", "2026-11-01", "2026-11-27T00:00+00:00"),
        ("0 0 * * FRI#3", "2026-11-01", "2026-11-20T00:00+00:00"),
        ("0 0 * * 7#1", "2026-11-02", "2026-12-06T00:00+00:00"),
        ("0 0 29 2 *", "2096-03-01", "2104-02-29T00:00+00:00"),
        ("0 0 ? 2 MON#5", "2026-01-01", "2044-02-29T00:00+00:00"),
        ("0 0 31 2 MON", "2026-02-24", "2027-02-01T00:00+00:00"),
        ("0 12 * * FRI-SUN", "2026-11-14T13:00", "2026-11-15T12:00+00:00"),
    ],
)
def test_days_are_named_by_number_or_weekday(expression: str, after: str, next_time: str) -> None:
    assert times(cron(expression), after, 1) == [next_time]


@pytest.mark.parametrize("expression", ["0 0 1 1 *", "*/5 * * * *"])
def test_the_end_of_the_calendar_is_the_end(expression: str) -> None:
    for zone in ("UTC", "Asia/Kolkata", "America/New_York"):
        assert timetable(cron(expression, zone)).after(datetime.max.replace(tzinfo=UTC)) is None


def part(lowest: int, highest: int) -> st.SearchStrategy[str]:
    number = st.integers(lowest, highest)
    ranges = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    stepped = st.tuples(ranges, st.integers(1, highest)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(st.one_of(number.map(str), ranges, stepped), min_size=1, max_size=3).map(",".join)


def field(lowest: int, highest: int) -> st.SearchStrategy[str]:
    return st.one_of(st.just("*"), part(lowest, highest))


def stepping(lowest: int, highest: int) -> st.SearchStrategy[str]:
    return st.one_of(field(lowest, highest), st.integers(1, highest).map(lambda step: f"*/{step}"))


# A range of one number and a step is the number to us, and the number and what follows to the other.
EXPRESSIONS = st.tuples(
    stepping(0, 59),
    stepping(0, 23),
    st.one_of(field(1, 28), st.just("L")),
    stepping(1, 12),
    st.one_of(field(0, 6), st.sampled_from(["5L", "0L", "1#2", "SAT#5", "MON-FRI"])),
).filter(lambda fields: not any(_is_single_stepped(each) for each in fields))


def _is_single_stepped(field: str) -> bool:
    return any(
        "/" in each and len(set(each.split("/")[0].split("-"))) == 1 and each[0] != "*"
        for each in field.split(",")
    )


@given(
    EXPRESSIONS,
    st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)),  # noqa: DTZ001 - given its zone below
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_without_changes_of_the_clock_another_library_agrees(
    fields: tuple[str, ...], after: datetime, with_seconds: bool
) -> None:
    expression = " ".join(("17", *fields) if with_seconds else fields)
    table, other = timetable(cron(expression)), CronSim(expression, after.replace(tzinfo=UTC))
    at = after.replace(tzinfo=UTC)
    for _ in range(3):
        expected = next(other, None)
        found = table.after(at)
        if expected is None:
            return
        assert found == expected
        at = expected
