"""When a schedule fires: pure functions of the schedule and a given time.

A time that the day does not have, because the clock is put forward past it, is the next moment that there is;
one that it has twice is the first of the two. A cron expression whose hour or minute says "every" is held
against what the clock shows at every moment instead, so it skips and repeats with the clock.
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from muster.definitions.cron import Cron, parse_cron
from muster.definitions.schedules import end_of, start_of
from muster.definitions.wall_clock import change_between, moment_of, offset_at, shown_at, zone_named
from muster.model.workflow import Schedule

# What intervals are counted from if nothing else is said.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)
# No clock is changed by more, and none twice within it.
_FAR = timedelta(hours=26)
_SHORTEST_MONTH = timedelta(days=28)


class _Occurrences(Protocol):
    def after(self, moment: datetime) -> datetime | None:
        """The first moment later than this one. None: there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Timetable:
    """The times of a schedule, from its start to its end, both included. No two of them are nearer to each
    other than `apart`, but where a clock is changed."""

    zone: ZoneInfo
    occurrences: _Occurrences
    apart: timedelta
    start: datetime | None = None
    end: datetime | None = None

    def after(self, moment: datetime) -> datetime | None:
        """The first time later than `moment`, in UTC. None: there is none."""
        try:
            if self.start is not None and self.start > moment:
                moment = self.start - _MOMENT
            found = self.occurrences.after(moment)
        except OverflowError:  # beyond the calendar, at either end
            return None
        return None if found is None or (self.end is not None and found > self.end) else found

    def upcoming(self, moment: datetime, most: int, until: datetime | None = None) -> list[datetime]:
        """The next times after `moment`, at most so many, and none that is later than `until`, in UTC."""
        times: list[datetime] = []
        found = self.after(moment)
        while found is not None and len(times) < most and (until is None or found <= until):
            times.append(found)
            found = self.after(found)
        return times

    def shown(self, moment: datetime) -> datetime:
        """The same moment with the offset that the schedule's zone has then."""
        return moment.astimezone(self.zone)


def timetable(schedule: Schedule) -> Timetable:
    """The times of a schedule that has no error. Raises `UnknownZone`."""
    zone = zone_named(schedule.timezone)
    start, end = start_of(schedule), end_of(schedule)
    if schedule.cron_expression is not None:
        cron = parse_cron(schedule.cron_expression)
        occurrences: _Occurrences = _Cadence(cron, zone) if cron.keeps_cadence else _Fixed(cron, zone)
        return Timetable(zone, occurrences, cron.apart, start, end)
    if schedule.interval_minutes is not None:
        every = timedelta(minutes=schedule.interval_minutes)
        return Timetable(zone, _Interval(start or EPOCH, every), every, start, end)
    assert schedule.day_of_month is not None, "a schedule is one of the three"
    monthly = _Monthly(schedule.day_of_month, time.fromisoformat(schedule.time or "00:00"), zone)
    return Timetable(zone, monthly, _SHORTEST_MONTH, start, end)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Fixed hours and minutes: every time that is named happens, once."""

    cron: Cron
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime | None:
        # What the clock has shown before has happened: only later times can be later moments.
        named = self.cron.following(shown_at(moment, self.zone))
        while named is not None:
            found = moment_of(named, self.zone)
            if found > moment:
                return found
            named = self.cron.following(named)
        return None


@dataclass(frozen=True, slots=True)
class _Cadence:
    """ "Every" hour or minute: whenever the clock shows a time that is named."""

    cron: Cron
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime | None:
        while True:
            shown = shown_at(moment, self.zone)
            named = self.cron.following(shown)
            if named is None:
                return None
            # So it would be if the clock were not changed until then.
            found = moment + (named - shown)
            near = min(found, moment + _FAR)
            if offset_at(near, self.zone) != offset_at(moment, self.zone):
                moment = change_between(moment, near, self.zone)
                if self.cron.names(shown_at(moment, self.zone)):
                    return moment
            elif near == found:
                return found
            else:
                # Nothing on the way is named, whatever is done to the clock in between.
                moment = found - _FAR


@dataclass(frozen=True, slots=True)
class _Interval:
    """Real time, counted from an origin."""

    origin: datetime
    every: timedelta

    def after(self, moment: datetime) -> datetime | None:
        if moment < self.origin:
            return self.origin
        return self.origin + ((moment - self.origin) // self.every + 1) * self.every


@dataclass(frozen=True, slots=True)
class _Monthly:
    """A day of each month, or its last if it has fewer."""

    day: int
    at: time
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime | None:
        shown = shown_at(moment, self.zone)
        year, month = shown.year, shown.month
        while year <= 9999:
            day = date(year, month, min(self.day, monthrange(year, month)[1]))
            found = moment_of(datetime.combine(day, self.at), self.zone)
            if found > moment:
                return found
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return None
