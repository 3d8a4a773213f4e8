"""Functions on times. They take and give ISO 8601 text; a date alone stays one as long as it can."""

import uuid as uuids
from datetime import UTC, datetime, timedelta

from muster.expr.convert import whole
from muster.expr.errors import ExpressionError
from muster.expr.functions.arguments import text_of
from muster.expr.functions.time_patterns import write_time
from muster.expr.functions.times import (
    bad_time,
    by_months,
    in_zone,
    instant,
    iso,
    iso_duration,
    moment,
    parse_duration,
)
from muster.expr.limits import Frame
from muster.model.json import Json

_NAMESPACE = uuids.UUID("6f1f2f0e-6f7c-5c0e-9d0b-3f0f6d757374")


def now(frame: Frame, column: int, zone_name: Json = "UTC") -> Json:
    """The time this is decided at; the same when it is computed again. In UTC, or in a zone.

    >>> run("now()")
    '2026-11-15T09:30:00Z'
    """
    return iso(in_zone(frame.scope.now, text_of(zone_name)))


def today(frame: Frame, column: int, zone_name: Json = "UTC") -> Json:
    """The date of `now()`, in UTC or in a zone.

    >>> run("today('Pacific/Auckland')")
    '2026-11-15'
    """
    return in_zone(frame.scope.now, text_of(zone_name)).date().isoformat()


def uuid(frame: Frame, column: int) -> Json:
    """An id that is the same when it is computed again, and different at every other place and turn.

    >>> run("uuid().length()")
    36
    """
    frame.calls += 1
    return str(uuids.uuid5(_NAMESPACE, f"{frame.scope.identity}\0{column}\0{frame.calls}"))


def to_date(value: Json) -> Json:
    """A time as ISO 8601 text, from any ISO 8601 text or milliseconds since 1970.

    >>> run("date(1763199000000)")
    '2025-11-15T09:30:00Z'
    """
    return iso(moment(value))


def duration(value: Json) -> Json:
    """A length of time as ISO 8601 text, from `15m`, `1h30m`, `2d`, `PT15M` or seconds.

    >>> run("duration('15m')")
    'PT15M'
    """
    return iso_duration(parse_duration(value))


def _shifted(value: Json, length: timedelta) -> Json:
    when = moment(value)
    if not isinstance(when, datetime) and (length.seconds or length.microseconds):
        when = instant(value)
    try:
        return iso(when + length)
    except OverflowError:
        raise bad_time("the time is out of range") from None


def _by(value: Json, count: Json, unit: timedelta) -> Json:
    try:
        return _shifted(value, unit * whole(count))
    except OverflowError:
        raise bad_time("the time is out of range") from None


def _by_months(value: Json, months: int) -> Json:
    return iso(by_months(moment(value), months))


def plus(value: Json, length: Json) -> Json:
    """A time later by a duration.

    >>> run("plus('2026-11-15T09:30:00Z', '1h30m')")
    '2026-11-15T11:00:00Z'
    """
    return _shifted(value, parse_duration(length))


def minus(value: Json, length: Json) -> Json:
    """A time earlier by a duration.

    >>> run("minus('2026-11-15T09:30:00Z', 'PT15M')")
    '2026-11-15T09:15:00Z'
    """
    return _shifted(value, -parse_duration(length))


def plus_seconds(value: Json, count: Json) -> Json:
    """A time later by seconds.

    >>> run("plusSeconds('2026-11-15T09:30:00Z', 5)")
    '2026-11-15T09:30:05Z'
    """
    return _by(value, count, timedelta(seconds=1))


def plus_minutes(value: Json, count: Json) -> Json:
    """A time later by minutes.

    >>> run("plusMinutes('2026-11-15T09:30:00Z', 45)")
    '2026-11-15T10:15:00Z'
    """
    return _by(value, count, timedelta(minutes=1))


def plus_hours(value: Json, count: Json) -> Json:
    """A time later by hours.

    >>> run("plusHours('2026-11-15', 5)")
    '2026-11-15T05:00:00Z'
    """
    return _by(value, count, timedelta(hours=1))


def plus_days(value: Json, count: Json) -> Json:
    """A time later by days.

    >>> run("plusDays('2026-12-31', 1)")
    '2027-01-01'
    """
    return _by(value, count, timedelta(days=1))


def plus_weeks(value: Json, count: Json) -> Json:
    """A time later by weeks.

    >>> run("plusWeeks('2026-11-15', 2)")
    '2026-11-29'
    """
    return _by(value, count, timedelta(weeks=1))


def plus_months(value: Json, count: Json) -> Json:
    """A time later by months; the day becomes the month's last if it has fewer.

    >>> run("plusMonths('2026-01-31', 1)")
    '2026-02-28'
    """
    return _by_months(value, whole(count))


def plus_years(value: Json, count: Json) -> Json:
    """A time later by years.

    >>> run("plusYears('2024-02-29', 1)")
    '2025-02-28'
    """
    return _by_months(value, 12 * whole(count))


def minus_seconds(value: Json, count: Json) -> Json:
    """A time earlier by seconds.

    >>> run("minusSeconds('2026-11-15T09:30:00Z', 5)")
    '2026-11-15T09:29:55Z'
    """
    return plus_seconds(value, -whole(count))


def minus_minutes(value: Json, count: Json) -> Json:
    """A time earlier by minutes.

    >>> run("minusMinutes('2026-11-15T09:30:00Z', 45)")
    '2026-11-15T08:45:00Z'
    """
    return plus_minutes(value, -whole(count))


def minus_hours(value: Json, count: Json) -> Json:
    """A time earlier by hours.

    >>> run("minusHours('2026-11-15T09:30:00Z', 10)")
    '2026-11-14T23:30:00Z'
    """
    return plus_hours(value, -whole(count))


def minus_days(value: Json, count: Json) -> Json:
    """A time earlier by days.

    >>> run("minusDays('2026-03-01', 1)")
    '2026-02-28'
    """
    return plus_days(value, -whole(count))


def minus_weeks(value: Json, count: Json) -> Json:
    """A time earlier by weeks.

    >>> run("minusWeeks('2026-11-15', 1)")
    '2026-11-08'
    """
    return plus_weeks(value, -whole(count))


def minus_months(value: Json, count: Json) -> Json:
    """A time earlier by months.

    >>> run("minusMonths('2026-03-31', 1)")
    '2026-02-28'
    """
    return _by_months(value, -whole(count))


def minus_years(value: Json, count: Json) -> Json:
    """A time earlier by years.

    >>> run("minusYears('2026-11-15', 1)")
    '2025-11-15'
    """
    return _by_months(value, -12 * whole(count))


def _units_between(start: Json, end: Json, unit: timedelta) -> int:
    length = instant(end) - instant(start)
    units = abs(length) // unit
    return units if length >= timedelta(0) else -units


def days_between(start: Json, end: Json) -> Json:
    """How many whole days after the first time the second is; negative if it is before.

    >>> run("daysBetween('2026-11-15', '2026-12-01')")
    16
    """
    return _units_between(start, end, timedelta(days=1))


def hours_between(start: Json, end: Json) -> Json:
    """How many whole hours after the first time the second is.

    >>> run("hoursBetween('2026-11-15', '2026-11-16T12:30:00Z')")
    36
    """
    return _units_between(start, end, timedelta(hours=1))


def minutes_between(start: Json, end: Json) -> Json:
    """How many whole minutes after the first time the second is.

    >>> run("minutesBetween('2026-11-15T09:30:00Z', '2026-11-15T11:00:00+01:00')")
    30
    """
    return _units_between(start, end, timedelta(minutes=1))


def seconds_between(start: Json, end: Json) -> Json:
    """How many whole seconds after the first time the second is.

    >>> run("secondsBetween('2026-11-15T09:30:00Z', '2026-11-15T09:31:30Z')")
    90
    """
    return _units_between(start, end, timedelta(seconds=1))


def duration_between(start: Json, end: Json) -> Json:
    """The duration from the first time to the second.

    >>> run("durationBetween('2026-11-15T09:30:00Z', '2026-11-16T10:00:00Z')")
    'P1DT30M'
    """
    return iso_duration(instant(end) - instant(start))


def is_before(first: Json, second: Json) -> Json:
    """Whether the first time is before the second.

    >>> run("isBefore('2026-11-15T09:30:00Z', '2026-11-15T10:00:00+01:00')")
    False
    """
    return instant(first) < instant(second)


def is_after(first: Json, second: Json) -> Json:
    """Whether the first time is after the second.

    >>> run("isAfter('2026-11-16', '2026-11-15')")
    True
    """
    return instant(first) > instant(second)


def epoch_millis(value: Json) -> Json:
    """Milliseconds since 1970.

    >>> run("epochMillis('2025-11-15T09:30:00Z')")
    1763199000000
    """
    return (instant(value) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def format_date(value: Json, pattern: Json, zone_name: Json = None) -> Json:
    """A time written by a pattern of `yyyy MM dd HH mm ss SSS EEE MMM a XXX` and quoted text.

    >>> run("format('2026-11-15T09:30:00Z', 'EEE d MMM yyyy, HH:mm', 'Europe/Vienna')")
    'Sun 15 Nov 2026, 10:30'
    """
    when = instant(value)
    if zone_name is not None:
        when = in_zone(when, text_of(zone_name))
    text = text_of(pattern)
    if len(text) > 200:
        raise ExpressionError("a time pattern may have 200 characters at most", "EXPRESSION_TIME")
    return write_time(when, text)
