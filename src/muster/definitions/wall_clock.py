"""Clocks on walls: what they show at a moment, and when they show a time, also on days when they are changed.

Moments are aware and in UTC; what a wall's clock shows is naive.
"""

from datetime import MAXYEAR, UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

_SECOND = timedelta(seconds=1)


class UnknownZone(Exception):
    """No zone has this name, or none has it any more."""


def zone_named(name: str) -> ZoneInfo:
    """Raises `UnknownZone`: what was known when it was saved may have been renamed since, or not be known
    where this runs."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnknownZone(f"The schedule's zone {name[:100]!r} is not known here: give it another") from None


def shown_at(moment: datetime, zone: ZoneInfo) -> datetime:
    """What the clock shows at a moment."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def moment_of(shown: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which the clock shows this time; if it never does, because it is put forward past
    it, the moment at which that is done: the next that there is."""
    local = shown.replace(tzinfo=zone, fold=0)
    first = local.astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None, fold=0) == shown:
        return first
    # By the offset of after the change it would be before it, by the one of before it after it.
    return change_between(local.replace(fold=1).astimezone(UTC), first, zone)


def change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The moment in (before, after] from which on the clock has the offset that it has at `after`."""
    offset = after.astimezone(zone).utcoffset()
    low, high = 0, -(-(after - before) // _SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if (after - middle * _SECOND).astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    # Clocks are changed on the second.
    return (after - low * _SECOND).replace(microsecond=0)


def offset_at(moment: datetime, zone: ZoneInfo) -> timedelta:
    """How far the clock is ahead of UTC at a moment."""
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None, "every zone has one"
    return offset


def moment_in(text: str, timezone: str) -> datetime:
    """A moment from ISO 8601, in UTC; without an offset it is local to the zone. Raises `ValueError`, and
    `OverflowError` for what the calendar does not have in UTC, and `UnknownZone`."""
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment_of(moment, zone_named(timezone))


def last_moment_in(text: str, timezone: str) -> datetime:
    """The same as `moment_in`; of a day without a time, its last moment there. What is past the end of the
    calendar in UTC is that end: `9999-12-31` is how many say "for ever", in any zone."""
    try:
        if not is_day(text):
            return moment_in(text, timezone)
        next_day = datetime.fromisoformat(text) + timedelta(days=1)
        return moment_in(next_day.isoformat(), timezone) - timedelta(microseconds=1)
    except OverflowError:
        if datetime.fromisoformat(text).year < MAXYEAR:
            raise
        return datetime.max.replace(tzinfo=UTC)


def is_day(text: str) -> bool:
    """Whether this is a day, without a time."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
