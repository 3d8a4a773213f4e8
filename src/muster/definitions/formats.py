"""What a JSON Schema's `format` means here. Each answers a flaw, or None if the value is well formed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from muster.definitions.cron import cron_flaw
from muster.definitions.durations import parse_duration
from muster.expr import (
    ExpressionError,
    compile_condition,
    compile_either,
    compile_mapping,
    compile_template,
)
from muster.expr.functions.times import parse_period
from muster.expr.paths import context_path
from muster.kit.names import did_you_mean
from muster.model.json import Json
from muster.model.topics import MARKERS


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with one value, whoever holds it."""

    code: str
    message: str
    suggestion: str | None = None
    column: int | None = None


Format = Callable[[Json], Flaw | None]


def duration(value: Json) -> Flaw | None:
    if not isinstance(value, str | int | float):
        return None
    try:
        parse_duration(value)
    except ValueError as error:
        return Flaw("INVALID_DURATION", str(error))
    return None


def period(value: Json) -> Flaw | None:
    """A duration, or ISO 8601 with years and months."""
    flaw = duration(value)
    if flaw is None or not isinstance(value, str):
        return flaw
    try:
        parse_period(value)
    except ExpressionError:
        return flaw
    return None


def topic(value: Json) -> Flaw | None:
    message = topic_flaw(value) if isinstance(value, str) else None
    return None if message is None else Flaw("INVALID_TOPIC", message)


def topic_flaw(topic: str) -> str | None:
    """Why nothing can be published to, or read from, a topic of this name; None if it can."""
    if topic in (".", ".."):
        return f"`{topic}` cannot be a topic's name."
    if not 1 <= len(topic) <= 249:
        return "A topic's name has 1 to 249 characters."
    if re.fullmatch(r"[A-Za-z0-9._-]+", topic) is None:
        return f"`{topic}` is not a topic's name: letters, digits, `.`, `_` and `-` are allowed."
    if topic == MARKERS:
        return f"`{topic}` is Muster's own: what was published is known by it."
    return None


def web_address(value: Json) -> Flaw | None:
    # The address itself may hold a password, so it is not repeated.
    if not isinstance(value, str):
        return None
    if not re.match(r"https?://[^/?#\s]", value, re.IGNORECASE):
        return Flaw(
            "INVALID_URL", "An address to call begins with `https://` or `http://`, and names a host."
        )
    if re.search(r"[\x00-\x20\x7f\\]", value):
        told = "An address holds no space, control character or backslash: encode it as `%20` and the like."
        return Flaw("INVALID_URL", told)
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return Flaw("INVALID_URL", "The address cannot be read: its host or its port is none.")
    if parts.username is not None:
        return Flaw("INVALID_URL", "An address carries no user name or password: give them as `auth`.")
    return Flaw("INVALID_URL", "The address names no host.") if not parts.hostname or port == 0 else None


def cron(value: Json) -> Flaw | None:
    message = cron_flaw(value) if isinstance(value, str) else None
    return None if message is None else Flaw("INVALID_CRON", message)


def timezone(value: Json) -> Flaw | None:
    if not isinstance(value, str) or _is_zone(value):
        return None
    return Flaw(
        "INVALID_TIMEZONE",
        f"`{value[:100]}` is not a time zone; write one of the IANA names, such as `Asia/Kolkata`.",
        did_you_mean(value, _zones()),
    )


# Names in the files of zones that mean another thing on each machine, or nothing.
_NO_ZONES = frozenset({"localtime", "posixrules", "Factory"})


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones()) - _NO_ZONES


@lru_cache(maxsize=1024)
def _is_zone(name: str) -> bool:
    if name not in _zones():
        return False
    ZoneInfo(name)
    return True


def instant(value: Json) -> Flaw | None:
    """ISO 8601, with or without an offset: without one the time is local to the schedule's zone."""
    if not isinstance(value, str):
        return None
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return Flaw("INVALID_TIME", f"`{value[:100]}` is not a time; write it as `2024-01-31T09:00:00`.")
    return None


def time_of_day(value: Json) -> Flaw | None:
    if isinstance(value, str) and not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?", value):
        return Flaw("INVALID_TIME", f"`{value[:100]}` is not a time of day; write it as `09:00`.")
    return None


def deadline(value: Json) -> Flaw | None:
    """A time of day that may name its offset: `08:00`, `08:00Z`, `08:00+05:30`."""
    shape = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?"
    if isinstance(value, str) and not re.fullmatch(shape, value):
        return Flaw("INVALID_TIME", f"`{value[:100]}` is not a time of day; write `08:00Z` or `08:00`.")
    return None


def condition(value: Json) -> Flaw | None:
    return _compiles(compile_condition, value)


def template(value: Json) -> Flaw | None:
    return _compiles(compile_template, value)


def either(value: Json) -> Flaw | None:
    return _compiles(compile_either, value)


def context_field(value: Json) -> Flaw | None:
    """A name or path in a context."""
    flaw = _compiles(context_path, value)
    return None if flaw is None else replace(flaw, code="INVALID_PATH")


def mapping(value: Json) -> Flaw | None:
    return _compiles(compile_mapping, value)


def _compiles(compiler: Callable[[str], object], value: Json) -> Flaw | None:
    if not isinstance(value, str):
        return None
    try:
        compiler(value)
    except ExpressionError as error:
        return Flaw("INVALID_EXPRESSION", error.message, column=error.column)
    return None


FORMATS: Mapping[str, Format] = {
    "duration": duration,
    "period": period,
    "topic": topic,
    "web-address": web_address,
    "cron": cron,
    "timezone": timezone,
    "instant": instant,
    "time-of-day": time_of_day,
    "deadline": deadline,
    "condition": condition,
    "mapping": mapping,
}
# An expression's own delimiters are not a reason to leave these unchecked.
OF_EXPRESSIONS = frozenset({"condition", "mapping"})
