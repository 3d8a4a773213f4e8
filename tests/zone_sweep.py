"""Holds timetables against walked clocks: every zone, every change of its clock, from 2015 to 2035."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from muster.definitions.timetables import Timetable, timetable
from muster.model.workflow import Schedule
from walked_clocks import DAY, HOUR, MINUTE, Change, Walk

Case = tuple[Schedule, list[datetime]]
Named = Callable[[date], bool]
# Around what the clock shows when it is changed, before and after, in minutes.
NEAR = (-90, -60, -31, -30, -1, 0, 1, 29, 30, 59, 60)
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def differences(name: str, changes: tuple[Change, ...], step: timedelta) -> list[str]:
    """What is not as it should be in a zone. Every case is also asked from moments `step` apart, and from
    just around the change."""
    zone, found = ZoneInfo(name), []
    for change in changes:
        walk = Walk(zone, change)
        for schedule, expected in cases(name, walk):
            found += compare(timetable(schedule), walk, expected, step, f"{name} {change.moment} {schedule}")
    return found


def compare(
    table: Timetable, walk: Walk, expected: list[datetime], step: timedelta, where: str
) -> Iterator[str]:
    got, at = [], walk.first - MINUTE
    while (found := table.after(at)) is not None and found <= walk.last:
        got.append(found)
        at = found
    if got != expected:
        yield f"{where}: {_texts(got)} and not {_texts(expected)}"
        return
    for after in _moments(walk, step):
        place = bisect_right(expected, after)
        wanted = expected[place] if place < len(expected) else None
        answer = table.after(after)
        if answer != wanted and not (wanted is None and (answer is None or answer > walk.last)):
            yield f"{where}: after {after} comes {answer} and not {wanted}"


def _texts(moments: list[datetime]) -> str:
    return ", ".join(f"{moment:%m-%d %H:%M:%S}" for moment in moments)


def _moments(walk: Walk, step: timedelta) -> Iterator[datetime]:
    moment, second = walk.change.moment, timedelta(seconds=1)
    yield from (moment - second, moment, moment + second, moment + timedelta(microseconds=1))
    at = moment - 3 * HOUR
    while at < moment + 3 * HOUR:
        yield at
        at += step


def cases(name: str, walk: Walk) -> Iterator[Case]:
    """Times just before, in and after the change, on days that are named in every way there is."""
    shown = walk.change.moment.replace(tzinfo=None)
    near = {
        (shown + offset + minutes * MINUTE).time()
        for offset in (walk.change.before, walk.change.after)
        for minutes in NEAR
    }
    yield from _fixed(name, walk, sorted(near))
    yield from _every(name, walk, (shown + walk.change.before).hour, (shown + walk.change.after).hour)
    yield from _on_named_days(name, walk, sorted(near))


def _fixed(name: str, walk: Walk, near: list[time]) -> Iterator[Case]:
    for each in near:
        fields = f"{each.minute} {each.hour} * * *"
        expected = walk.fixed([each], _any_day)
        # Exactly once each day, whatever is done to the clock.
        assert len(expected) in (len(walk.days) - 2, len(walk.days) - 1, len(walk.days)), (name, fields)
        yield _cron(name, fields), expected
    some = near[len(near) // 2]
    with_seconds = some.replace(second=30)
    yield (
        _cron(name, f"30 {some.minute} {some.hour} * * *"),
        walk.fixed([with_seconds], _any_day),
    )
    hours = sorted({each.hour for each in near})
    many = [time(hour, minute) for hour in hours for minute in (0, 15, 30, 45)]
    listed = ",".join(map(str, hours))
    yield _cron(name, f"0,15,30,45 {listed} * * *"), walk.fixed(many, _any_day)
    yield _cron(name, f"0-45/15 {listed} ? * ?"), walk.fixed(many, _any_day)


def _every(name: str, walk: Walk, before: int, after: int) -> Iterator[Case]:
    day, hour = range(24), range(60)
    yield _cron(name, "*/15 * * * *"), walk.cadence(day, range(0, 60, 15), _any_day)
    yield _cron(name, "37 * * * *"), walk.cadence(day, [37], _any_day)
    yield _cron(name, "0 */2 * * *"), walk.cadence(range(0, 24, 2), [0], _any_day)
    yield _cron(name, "5,35 */3 * * *"), walk.cadence(range(0, 24, 3), [5, 35], _any_day)
    for each in {before, after}:
        yield _cron(name, f"*/20 {each} * * *"), walk.cadence([each], hour[::20], _any_day)
        yield _cron(name, f"*/7 {each} * * *"), walk.cadence([each], hour[::7], _any_day)


def _on_named_days(name: str, walk: Walk, near: list[time]) -> Iterator[Case]:
    """The day of the change, named by number, weekday, `#` and `L`, in its month and in none."""
    day = walk.change.moment.astimezone(walk.zone).date()
    some = near[day.toordinal() % len(near)]
    at, weekday = f"{some.minute} {some.hour}", WEEKDAYS[day.isoweekday() % 7]
    which = (day.day + 6) // 7
    ways: list[tuple[str, Named]] = [
        (f"{day.day} * *", lambda each: each.day == day.day),
        (f"* {day.month} {weekday}", lambda each: _same_weekday(each, day) and each.month == day.month),
        (f"* * {weekday}#{which}", lambda each: _same_weekday(each, day) and (each.day + 6) // 7 == which),
        (f"* * {weekday}L", lambda each: _same_weekday(each, day) and _is_last_week(each)),
        ("L * *", _is_last),
        (f"L {day.month} {weekday}", lambda each: each.month == day.month and _last_or_same(each, day)),
        (f"{day.day} * {WEEKDAYS[(day.isoweekday() + 1) % 7]}", lambda each: _number_or_next(each, day)),
        ("29 2 *", lambda each: (each.month, each.day) == (2, 29)),
    ]
    for fields, named in ways:
        yield _cron(name, f"{at} {fields}"), walk.fixed([some], named)
        yield (
            _cron(name, f"*/30 {some.hour} {fields}"),
            walk.cadence([some.hour], [0, 30], named),
        )
    for number in {29, 30, 31, day.day}:
        monthly = Schedule("MONTHLY", day_of_month=number, time=f"{some:%H:%M}", timezone=name)
        yield monthly, walk.fixed([some], lambda each, number=number: _clamped(each, number))
    midnight = Schedule("MONTHLY", day_of_month=day.day, timezone=name)
    yield midnight, walk.fixed([time()], lambda each: _clamped(each, day.day))


def _cron(name: str, expression: str) -> Schedule:
    return Schedule("CRON", cron_expression=expression, timezone=name)


def _any_day(_: date) -> bool:
    return True


def _same_weekday(one: date, other: date) -> bool:
    return one.weekday() == other.weekday()


def _is_last(day: date) -> bool:
    return (day + DAY).day == 1


def _is_last_week(day: date) -> bool:
    return (day + 7 * DAY).month != day.month


def _last_or_same(one: date, other: date) -> bool:
    return _is_last(one) or _same_weekday(one, other)


def _number_or_next(one: date, other: date) -> bool:
    return one.day == other.day or _same_weekday(one, other + DAY)


def _clamped(day: date, number: int) -> bool:
    return day.day == number or (_is_last(day) and day.day < number)
