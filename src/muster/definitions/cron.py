"""Cron expressions: what they name, or why they cannot be understood.

Five fields (minute hour day month weekday), or six with seconds first. Each holds `*`, a number or name, a
range `a-b`, steps `*/n`, `a-b/n` or `a/n`, or a list of those. Days of the month also take `L` (the last) and
`?` (any); weekdays take `?`, `5L` (the last Friday) and `5#3` (the third Friday). Sunday is 0 or 7.
"""

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache

_MONTHS = {"JAN": 1, "FEB": 2, "MAR": 3, "APR": 4, "MAY": 5, "JUN": 6}
_MONTHS |= {"JUL": 7, "AUG": 8, "SEP": 9, "OCT": 10, "NOV": 11, "DEC": 12}
_DAYS = {"SUN": 0, "MON": 1, "TUE": 2, "WED": 3, "THU": 4, "FRI": 5, "SAT": 6}
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LONGEST = 500
_UNSET = ("*", "?")
_LAST = 0
# After so many years the calendar begins anew: what has not come by then never comes.
_WHOLE_CALENDAR = 400
_SECOND_LATER = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _Field:
    title: str
    lowest: int
    highest: int
    names: dict[str, int] = field(default_factory=dict)


_SECOND = _Field("second", 0, 59)
_MINUTE = _Field("minute", 0, 59)
_HOUR = _Field("hour", 0, 23)
_DAY = _Field("day of the month", 1, 31)
_MONTH = _Field("month", 1, 12, _MONTHS)
_WEEKDAY = _Field("weekday", 0, 7, _DAYS)
_SIX = (_SECOND, _MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY)


class CronFlaw(Exception):
    """Why an expression cannot be understood, as a sentence."""


@dataclass(frozen=True, slots=True)
class Cron:
    """The times that an expression names, as a clock on the wall shows them.

    `weekdays` count from Sunday, 0. `nth` are weekdays with which one of the month is meant; 0 is the last.
    `either`: a day is named by its number or by its weekday; else it has to be by both. `keeps_cadence`: hour
    or minute say "every", so that a change of the clock makes runs no fewer and no more per real hour.
    """

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    last_day: bool
    months: frozenset[int]
    weekdays: frozenset[int]
    nth: frozenset[tuple[int, int]]
    either: bool
    keeps_cadence: bool

    @property
    def apart(self) -> timedelta:
        """No two of its times are nearer to each other."""
        if len(self.seconds) > 1:
            return timedelta(seconds=_nearest(self.seconds, 60))
        if len(self.minutes) > 1:
            return timedelta(minutes=_nearest(self.minutes, 60))
        return timedelta(hours=_nearest(self.hours, 24))

    def following(self, wall: datetime) -> datetime | None:
        """The first time after this one that is named. None: there is none, to the end of the calendar."""
        first = wall.replace(microsecond=0) + _SECOND_LATER
        for day in self._days_from(first.date()):
            moment = self._time_from(first.time() if day == first.date() else time())
            if moment is not None:
                return datetime.combine(day, moment)
        return None

    def names(self, wall: datetime) -> bool:
        """Whether this very second is one of its times."""
        return (
            wall.second in self.seconds
            and wall.minute in self.minutes
            and wall.hour in self.hours
            and wall.month in self.months
            and self._names_day(wall.date(), monthrange(wall.year, wall.month)[1])
        )

    def _days_from(self, first: date) -> Iterator[date]:
        for year in range(first.year, min(first.year + _WHOLE_CALENDAR, 9999) + 1):
            for month in range(first.month if year == first.year else 1, 13):
                if month in self.months:
                    yield from self._days_of(year, month, first)

    def _days_of(self, year: int, month: int, first: date) -> Iterator[date]:
        length = monthrange(year, month)[1]
        is_first = (year, month) == (first.year, first.month)
        for number in range(first.day if is_first else 1, length + 1):
            day = date(year, month, number)
            if self._names_day(day, length):
                yield day

    def _names_day(self, day: date, length: int) -> bool:
        by_number = day.day in self.days or (self.last_day and day.day == length)
        if by_number and self.either:
            return True
        by_weekday = self._names_weekday(day, length)
        return by_weekday if self.either else by_number and by_weekday

    def _names_weekday(self, day: date, length: int) -> bool:
        weekday = day.isoweekday() % 7
        if weekday in self.weekdays:
            return True
        which = (day.day + 6) // 7
        return (weekday, which) in self.nth or ((weekday, _LAST) in self.nth and day.day + 7 > length)

    def _time_from(self, first: time) -> time | None:
        for hour in self.hours[bisect_left(self.hours, first.hour) :]:
            from_minute = first.minute if hour == first.hour else 0
            for minute in self.minutes[bisect_left(self.minutes, from_minute) :]:
                same = (hour, minute) == (first.hour, first.minute)
                later = self.seconds[bisect_left(self.seconds, first.second if same else 0) :]
                if later:
                    return time(hour, minute, later[0])
        return None


def _nearest(values: tuple[int, ...], around: int) -> int:
    """How far those of the values are apart that follow each other the soonest, on a dial."""
    following = (*values[1:], values[0] + around)
    return min(later - each for each, later in zip(values, following, strict=True))


def cron_flaw(expression: str) -> str | None:
    """A sentence that says what is wrong with a cron expression; None if nothing is."""
    try:
        parse_cron(expression)
    except CronFlaw as flaw:
        return str(flaw)
    return None


@lru_cache(maxsize=4096)
def parse_cron(expression: str) -> Cron:
    """Raises `CronFlaw`."""
    if len(expression) > _LONGEST:
        raise CronFlaw(f"A cron expression has {_LONGEST} characters at most; this has {len(expression):,}.")
    parts = expression.upper().split()
    if len(parts) not in (5, 6):
        raise CronFlaw(
            f"A cron expression has five fields, or six with seconds first; this has {len(parts)}."
        )
    six = ["0", *parts] if len(parts) == 5 else parts
    read = [_Reading(of) for of in _SIX]
    for reading, text in zip(read, six, strict=True):
        reading.read(text)
    cron = _cron(read, six)
    _refuse_never(cron, six)
    return cron


def _cron(read: "list[_Reading]", texts: list[str]) -> Cron:
    second, minute, hour, day, month, weekday = read
    return Cron(
        seconds=tuple(sorted(second.values)),
        minutes=tuple(sorted(minute.values)),
        hours=tuple(sorted(hour.values)),
        days=frozenset(day.values),
        last_day=day.last_day,
        months=frozenset(month.values),
        weekdays=frozenset(value % 7 for value in weekday.values),
        nth=frozenset(weekday.nth),
        either=texts[3] not in _UNSET and texts[5] not in _UNSET,
        keeps_cadence="*" in texts[1] or "*" in texts[2],
    )


def _refuse_never(cron: Cron, texts: list[str]) -> None:
    if texts[5] not in _UNSET or cron.last_day or not cron.days:
        return
    if min(cron.days) > max(_LONGEST_MONTH[month - 1] for month in cron.months):
        raise CronFlaw(f"It never fires: day {min(cron.days)} is in none of its months.")


class _Reading:
    """What the parts of one field come to."""

    def __init__(self, of: _Field) -> None:
        self._of = of
        self.values: set[int] = set()
        self.nth: set[tuple[int, int]] = set()
        self.last_day = False

    def read(self, text: str) -> None:
        for part in text.split(","):
            self._read_part(part)

    def _read_part(self, part: str) -> None:
        of = self._of
        if part == "?" and of in (_DAY, _WEEKDAY):
            self.values.update(range(of.lowest, of.highest + 1))
        elif part == "L" and of is _DAY:
            self.last_day = True
        elif of is _WEEKDAY and part.endswith("L") and part != "L":
            self.nth.add((_number(part[:-1], of) % 7, _LAST))
        elif of is _WEEKDAY and "#" in part:
            self.nth.add(_nth(part, of))
        else:
            self.values.update(_range_values(part, of))


def _range_values(part: str, of: _Field) -> range:
    body, slash, step = part.partition("/")
    every = _step(step, part, of) if slash else 1
    first, last = _range(body, of, open_ended=bool(slash))
    return range(first, last + 1, every)


def _nth(part: str, of: _Field) -> tuple[int, int]:
    day, _, nth = part.partition("#")
    weekday = _number(day, of) % 7
    if nth not in ("1", "2", "3", "4", "5"):
        raise CronFlaw(f"`{part}`: after `#` comes which one of the month, 1 to 5.")
    return weekday, int(nth)


def _step(step: str, part: str, of: _Field) -> int:
    if not (step.isascii() and step.isdigit()) or not 1 <= int(step[:9]) <= of.highest or len(step) > 9:
        raise CronFlaw(f"`{part}` is not a step for the {of.title}: 1 to {of.highest} may follow the `/`.")
    return int(step)


def _range(body: str, of: _Field, open_ended: bool) -> tuple[int, int]:
    if body == "*":
        return of.lowest, of.highest
    start, dash, end = body.partition("-")
    if dash and not (start and end):
        raise _no_number(body, of)
    first = _number(start, of)
    if not dash:
        return first, of.highest if open_ended else first
    last = _number(end, of)
    if of is _WEEKDAY and last == 0 and first > 0:
        last = 7
    if last < first:
        raise CronFlaw(f"`{body}` runs backwards; write it as two ranges.")
    return first, last


def _number(text: str, of: _Field) -> int:
    if text in of.names:
        return of.names[text]
    if text.isascii() and text.isdigit() and len(text) <= 2 and of.lowest <= int(text) <= of.highest:
        return int(text)
    raise _no_number(text, of)


def _no_number(text: str, of: _Field) -> CronFlaw:
    named = f" or {next(iter(of.names))} to {list(of.names)[-1]}" if of.names else ""
    article = "an" if of is _HOUR else "a"
    shown = f"`{text}`" if text else "An empty part"
    return CronFlaw(f"{shown} is not {article} {of.title}: {of.lowest} to {of.highest}{named}.")
