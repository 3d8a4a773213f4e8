"""Writing a time by a pattern of letters, as Java's formatter reads them, in English."""

import re
from datetime import datetime

from muster.expr.functions.times import bad_time

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_PART = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|[^a-zA-Z']+")


def write_time(when: datetime, pattern: str) -> str:
    """The time by the pattern; text in quotes stands for itself, two quotes for one.

    >>> write_time(datetime(2026, 11, 5, 15, 4), "dd.MM.yy 'at' h:mm a")
    '05.11.26 at 3:04 PM'
    """
    written, at = [], 0
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if part is None:
            raise bad_time("a quote is never closed in the time pattern")
        written.append(_write(when, part))
        at = part.end()
    return "".join(written)


def _write(when: datetime, part: re.Match[str]) -> str:
    if part[2]:
        return _letters(when, part[2], len(part[0]))
    if part[1] is not None:
        return part[1].replace("''", "'") or "'"
    return part[0]


def _letters(when: datetime, letter: str, count: int) -> str:
    match letter:
        case "y" | "u":
            return f"{when.year % 100:02d}" if count == 2 else f"{when.year:0{count}d}"
        case "M" | "L":
            return _word(_MONTHS[when.month - 1], when.month, count)
        case "E":
            return _DAYS[when.weekday()][: None if count > 3 else 3]
        case "e":
            return _word(_DAYS[when.weekday()], when.isoweekday(), count)
        case "S":
            return f"{when.microsecond:06d}".ljust(count, "0")[:count]
        case "a":
            return "AM" if when.hour < 12 else "PM"
        case "X" | "x" | "Z":
            return _offset(when, letter, count)
        case "z" | "V":
            return when.tzname() or "UTC"
    numbers = {
        "d": when.day,
        "D": when.timetuple().tm_yday,
        "H": when.hour,
        "h": (when.hour - 1) % 12 + 1,
        "m": when.minute,
        "s": when.second,
        "w": when.isocalendar().week,
        "Q": (when.month + 2) // 3,
    }
    if letter not in numbers:
        raise bad_time("a letter has no meaning in the time pattern (put text in quotes)")
    return f"{numbers[letter]:0{count}d}"


def _word(word: str, number: int, count: int) -> str:
    """A number of one or two digits, or the word, short or in full."""
    return f"{number:0{count}d}" if count < 3 else word[:3] if count == 3 else word


def _offset(when: datetime, letter: str, count: int) -> str:
    offset = when.utcoffset()
    seconds = int(offset.total_seconds()) if offset else 0
    if seconds == 0 and letter == "X":
        return "Z"
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    if letter != "Z" and count == 1 and minutes % 60 == 0:
        return f"{sign}{minutes // 60:02d}"
    colon = ":" if letter != "Z" and count >= 3 else ""
    return f"{sign}{minutes // 60:02d}{colon}{minutes % 60:02d}"
