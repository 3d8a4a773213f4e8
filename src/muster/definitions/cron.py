"""Whether a cron expression can be understood, and says anything.

Five fields (minute hour day month weekday), or six with seconds first. Each holds `*`, a number or name, a
range `a-b`, steps `*/n`, `a-b/n` or `a/n`, or a list of those. Days of the month also take `L` (the last) and
`?` (any); weekdays take `?`, `5L` (the last Friday) and `5#3` (the third Friday). Sunday is 0 or 7.
"""

from dataclasses import dataclass, field

_MONTHS = {"JAN": 1, "FEB": 2, "MAR": 3, "APR": 4, "MAY": 5, "JUN": 6}
_MONTHS |= {"JUL": 7, "AUG": 8, "SEP": 9, "OCT": 10, "NOV": 11, "DEC": 12}
_DAYS = {"SUN": 0, "MON": 1, "TUE": 2, "WED": 3, "THU": 4, "FRI": 5, "SAT": 6}
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


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


class _Flaw(Exception):
    """Why a field cannot be understood."""


def cron_flaw(expression: str) -> str | None:
    """A sentence that says what is wrong with a cron expression; None if nothing is."""
    parts = expression.split()
    if len(parts) not in (5, 6) or len(expression) > 500:
        return f"A cron expression has five fields, or six with seconds first; this has {len(parts)}."
    fields = _SIX[6 - len(parts) :]
    try:
        values = [_field_values(text.upper(), of) for text, of in zip(parts, fields, strict=True)]
    except _Flaw as flaw:
        return str(flaw)
    return _never(parts, values)


def _never(parts: list[str], values: list[set[int]]) -> str | None:
    days, months = values[-3], values[-2]
    if parts[-1] in ("*", "?") and days and min(days) > max(_LONGEST_MONTH[month - 1] for month in months):
        return f"It never fires: day {min(days)} is in none of its months."
    return None


def _field_values(text: str, of: _Field) -> set[int]:
    """The numbers that a field names; what depends on the month (`L`, `5#3`) names none."""
    found: set[int] = set()
    for part in text.split(","):
        found |= _part_values(part, of)
    return found


def _part_values(part: str, of: _Field) -> set[int]:
    if part == "?" and of in (_DAY, _WEEKDAY):
        return set(range(of.lowest, of.highest + 1))
    if part == "L" and of is _DAY:
        return set()
    if of is _WEEKDAY and part.endswith("L") and part != "L":
        _number(part[:-1], of)
        return set()
    if of is _WEEKDAY and "#" in part:
        return _nth(part, of)
    body, slash, step = part.partition("/")
    every = _step(step, part, of) if slash else 1
    first, last = _range(body, of, open_ended=bool(slash))
    return set(range(first, last + 1, every))


def _nth(part: str, of: _Field) -> set[int]:
    day, _, nth = part.partition("#")
    _number(day, of)
    if nth not in ("1", "2", "3", "4", "5"):
        raise _Flaw(f"`{part}`: after `#` comes which one of the month, 1 to 5.")
    return set()


def _step(step: str, part: str, of: _Field) -> int:
    if not (step.isascii() and step.isdigit()) or not 1 <= int(step[:9]) <= of.highest or len(step) > 9:
        raise _Flaw(f"`{part}` is not a step for the {of.title}: 1 to {of.highest} may follow the `/`.")
    return int(step)


def _range(body: str, of: _Field, open_ended: bool) -> tuple[int, int]:
    if body == "*":
        return of.lowest, of.highest
    start, dash, end = body.partition("-")
    first = _number(start, of)
    if not dash:
        return first, of.highest if open_ended else first
    last = _number(end, of)
    if of is _WEEKDAY and last == 0 and first > 0:
        last = 7
    if last < first:
        raise _Flaw(f"`{body}` runs backwards; write it as two ranges.")
    return first, last


def _number(text: str, of: _Field) -> int:
    if text in of.names:
        return of.names[text]
    if text.isascii() and text.isdigit() and len(text) <= 2 and of.lowest <= int(text) <= of.highest:
        return int(text)
    named = f" or {next(iter(of.names))} to {list(of.names)[-1]}" if of.names else ""
    raise _Flaw(f"`{text}` is not a {of.title}: {of.lowest} to {of.highest}{named}.")
