"""What schedules have to do around every change of every clock, found by walking its minutes one by one.

Nothing here knows how the times are computed: for 36 hours around a change it writes down what the clock on
the wall shows, minute by minute, and looks the answers up.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo, available_timezones

FIRST, LAST = datetime(2015, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
HALF_A_WALK = timedelta(hours=18)


@dataclass(frozen=True)
class Change:
    """A moment from which on a clock has another offset."""

    moment: datetime
    before: timedelta
    after: timedelta


def changes_of(zone: ZoneInfo, step: timedelta) -> tuple[Change, ...]:
    """All from 2015 to 2035; two that are nearer to each other than `step` and cancel out are not seen."""
    return tuple(_changes(zone, step))


def _changes(zone: ZoneInfo, step: timedelta) -> Iterator[Change]:
    at, offset = FIRST, FIRST.astimezone(zone).utcoffset()
    while at < LAST:
        then = (at + step).astimezone(zone).utcoffset()
        if then != offset:
            moment = at
            while moment.astimezone(zone).utcoffset() == offset:
                moment += HOUR
            while moment.astimezone(zone).utcoffset() != offset:
                moment -= MINUTE
            moment += MINUTE
            then = moment.astimezone(zone).utcoffset()
            assert offset is not None
            assert then is not None
            yield Change(moment, offset, then)
            at, offset = moment, then
        else:
            at += step


def distinct_zones(step: timedelta) -> dict[str, tuple[Change, ...]]:
    """One zone for all that have the same changes, by its name."""
    found: dict[tuple[Change, ...], str] = {}
    for name in sorted(available_timezones()):
        found.setdefault(changes_of(ZoneInfo(name), step), name)
    return {name: changes for changes, name in found.items()}


class Walk:
    """What a clock shows in every minute of the 36 hours around a change."""

    def __init__(self, zone: ZoneInfo, change: Change) -> None:
        self.zone, self.change = zone, change
        self.first = change.moment - HALF_A_WALK
        self.last = change.moment + HALF_A_WALK
        moments = [self.first + minutes * MINUTE for minutes in range(36 * 60 + 1)]
        self.minutes = [(moment, moment.astimezone(zone).replace(tzinfo=None, fold=0)) for moment in moments]

    @cached_property
    def when(self) -> dict[datetime, datetime]:
        """The first moment at which each minute is shown."""
        return {shown: moment for moment, shown in reversed(self.minutes)}

    @cached_property
    def days(self) -> list[date]:
        return sorted({shown.date() for _, shown in self.minutes})

    @cached_property
    def by_time_of_day(self) -> dict[tuple[int, int], list[tuple[datetime, date]]]:
        found = defaultdict(list)
        for moment, shown in self.minutes:
            found[shown.hour, shown.minute].append((moment, shown.date()))
        return found

    def fixed(self, times: Iterable[time], named: Callable[[date], bool]) -> list[datetime]:
        """Each time of each day that is named: the first moment that shows it, or else the next there is."""
        wanted = [datetime.combine(day, each) for day in self.days if named(day) for each in times]
        return sorted({moment for each in wanted if (moment := self._moment(each)) is not None})

    def _moment(self, wanted: datetime) -> datetime | None:
        minute = wanted.replace(second=0)
        found = self.when.get(minute)
        if found is not None:
            found += timedelta(seconds=wanted.second)
            return found if found <= self.last else None
        if not self.minutes[0][1] < wanted < self.minutes[-1][1]:
            return None
        return next(moment for moment, shown in self.minutes if shown > wanted)

    def cadence(
        self, hours: Iterable[int], minutes: Iterable[int], named: Callable[[date], bool]
    ) -> list[datetime]:
        """Every minute that shows such an hour and minute, on days that are named."""
        wanted, days = list(minutes), {day for day in self.days if named(day)}
        return sorted(
            moment
            for hour in hours
            for minute in wanted
            for moment, day in self.by_time_of_day.get((hour, minute), ())
            if day in days
        )
