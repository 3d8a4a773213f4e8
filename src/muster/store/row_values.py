"""What a database gives, as JSON: nothing is lost, and what JSON has no form for becomes text."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite

from muster.model.json import Json


class Unreadable(ValueError):
    """A result that no list of objects can hold; the message says why."""


def rows_as_json(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Json]:
    """Each row as an object. Raises `Unreadable`."""
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise Unreadable(f"two columns are called `{twice[0]}`: tell them apart with AS")
    return [{name: as_json(value, name) for name, value in zip(columns, row, strict=True)} for row in rows]


def as_json(value: object, name: str = "") -> Json:
    """Times in ISO 8601, bytes in Base64; a decimal is a number where that number is it exactly."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return _text(value, name)
        case float():
            return value if isfinite(value) else str(value)
        case Decimal():
            return _decimal(value)
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
        case date() | time():
            return value.isoformat()
        case timedelta():
            return f"PT{as_json(Decimal(value // timedelta(microseconds=1)) / 1_000_000)}S"
        case bytes() | bytearray() | memoryview():
            return b64encode(bytes(value)).decode()
        case Mapping():
            return {str(key): as_json(inner, name) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [as_json(inner, name) for inner in value]
        case _:
            return _text(str(value), name)


def _text(value: str, name: str) -> str:
    if "\0" in value:
        raise Unreadable(f"the column `{name}` holds a NUL character, which cannot be kept")
    return value


def _decimal(value: Decimal) -> Json:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and value.as_tuple().exponent == 0:
        return int(value)
    number = float(value)
    return number if isfinite(number) and Decimal(repr(number)) == value else str(value)
