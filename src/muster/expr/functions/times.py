"""Times and durations as ISO 8601 text: read, reckoned with, written.

A text with a date alone stays one; a time without an offset is in UTC.
"""

import calendar
import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TypeVar
from zoneinfo import ZoneInfo

from muster.expr.errors import ExpressionError
from muster.expr.functions.arguments import wrong
from muster.model.json import Json

D = TypeVar("D", bound=date)
_SHORT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*(ms|w|d|h|m|s)\s*")
_ISO = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<weeks>[0-9]{1,9})W)?(?:(?P<days>[0-9]{1,9})D)?"
    r"(?:T(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?(?:(?P<seconds>[0-9]{1,12}(?:\.[0-9]{1,9})?)S)?)?"
)
_CALENDAR = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<years>[0-9]{1,4})Y)?(?:(?P<months>[0-9]{1,5})M)?(?P<rest>.*)", re.IGNORECASE
)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def bad_time(message: str) -> ExpressionError:
    return ExpressionError(message, "EXPRESSION_TIME")


def moment(value: Json) -> date | datetime:
    """A date, or an aware date and time, from ISO 8601 text or milliseconds since 1970."""
    if type(value) is str and len(value) <= 64:
        return _read(value.strip())
    if type(value) is int or type(value) is float:
        try:
            return datetime.fromtimestamp(value / 1000, UTC)
        except (OverflowError, ValueError, OSError):
            pass  # said below
    raise wrong("an ISO 8601 time", value)


def _read(text: str) -> date | datetime:
    try:
        if "T" not in text.upper() and ":" not in text:
            return date.fromisoformat(text)
        read = datetime.fromisoformat(text)
    except ValueError:
        raise bad_time("this text is not an ISO 8601 time such as 2026-11-15T09:30:00Z") from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def instant(value: Json) -> datetime:
    """An aware date and time; a date alone is its midnight in UTC."""
    when = moment(value)
    return when if isinstance(when, datetime) else datetime(when.year, when.month, when.day, tzinfo=UTC)


def in_zone(when: datetime, name: str) -> datetime:
    try:
        return when.astimezone(zone(name))
    except OverflowError:
        raise bad_time("the time is out of range in that zone") from None


def iso(when: date | datetime) -> str:
    """ISO 8601, with `Z` for UTC and a fraction only where there is one."""
    if not isinstance(when, datetime):
        return when.isoformat()
    fraction = (
        "seconds" if not when.microsecond else "microseconds" if when.microsecond % 1000 else "milliseconds"
    )
    return when.isoformat(timespec=fraction).replace("+00:00", "Z")


@lru_cache(maxsize=256)
def zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise bad_time("this text is not a time zone such as Europe/Vienna") from None


def parse_duration(value: Json) -> timedelta:
    """A length of time from `15m`, `1h30m`, ISO 8601 (`PT15M`, `P1D`) or a number of seconds.

    >>> parse_duration("1h30m")
    datetime.timedelta(seconds=5400)
    """
    try:
        if type(value) is str and len(value) <= 64:
            return _duration(value.strip())
        if type(value) is int or type(value) is float:
            return timedelta(seconds=value)
    except (OverflowError, ValueError):
        pass  # said below
    raise wrong("a duration such as 15m or PT15M", value)


def _duration(text: str) -> timedelta:
    found = _ISO.fullmatch(text.upper())
    if found and text[-1].upper() not in "PT":
        parts = {unit: float(found[unit] or 0) for unit in ("weeks", "days", "hours", "minutes", "seconds")}
        return timedelta(**parts) * (-1 if found["sign"] == "-" else 1)
    total, at = 0.0, 0
    while match := _SHORT.match(text, at):
        total += float(match[1]) * _UNITS[match[2]]
        at = match.end()
    if at == 0 or at < len(text):
        raise bad_time("this text is not a duration such as 15m, 1h30m or PT15M")
    return timedelta(seconds=total)


def parse_period(value: Json) -> tuple[int, timedelta]:
    """Months, and a length of time beside them: a duration, or ISO 8601 with years and months.

    >>> parse_period("P1Y2M10DT1H")
    (14, datetime.timedelta(days=10, seconds=3600))
    """
    found = _CALENDAR.fullmatch(value.strip()) if type(value) is str and len(value) <= 64 else None
    if found is None or not (found["years"] or found["months"]):
        return 0, parse_duration(value)
    sign = -1 if found["sign"] == "-" else 1
    months = int(found["years"] or 0) * 12 + int(found["months"] or 0)
    rest = parse_duration(f"P{found['rest']}") if found["rest"] else timedelta()
    return sign * months, sign * rest


def by_months(when: D, months: int) -> D:
    """So many months later; on the last day of a month that is too short."""
    year, month = divmod(when.year * 12 + when.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise bad_time("the time is out of range")
    last = calendar.monthrange(year, month + 1)[1]
    return when.replace(year=year, month=month + 1, day=min(when.day, last))


def iso_duration(length: timedelta) -> str:
    """ISO 8601: days, then hours, minutes and seconds.

    >>> iso_duration(timedelta(days=1, seconds=5400))
    'P1DT1H30M'
    """
    sign = "-" if length < timedelta(0) else ""
    length = abs(length)
    hours, rest = divmod(length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{length.microseconds:06d}".rstrip("0") if length.microseconds else ""
    clock = f"{hours}H" * (hours > 0) + f"{minutes}M" * (minutes > 0)
    clock += f"{seconds}{fraction}S" * bool(seconds or fraction)
    days = f"{length.days}D" * (length.days > 0)
    return f"{sign}P{days}T{clock}" if clock else f"{sign}P{days}" if days else "PT0S"
