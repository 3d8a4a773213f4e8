"""Avro's binary encoding of JSON values, and back. What does not fit is said by its place.

A value of a union is one of its branches as it is, or, as Avro's own JSON has it, an object with the branch's
name. Bytes are texts of characters up to 255; times and decimals may be texts.
"""

import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import assert_never

from muster.model.json import Json
from muster.nodes.message_schemas import SchemaViolation, Undecodable
from muster.schemas.avro_types import Array, Enum, Fixed, Map, Primitive, Record, Type, Union

EPOCH, DAY_ZERO = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
BITS = {"int": 31, "long": 63}
UNITS = {
    "timestamp-millis": timedelta(milliseconds=1),
    "timestamp-micros": timedelta(microseconds=1),
    "local-timestamp-millis": timedelta(milliseconds=1),
    "local-timestamp-micros": timedelta(microseconds=1),
    "time-millis": timedelta(milliseconds=1),
    "time-micros": timedelta(microseconds=1),
}
LARGEST = 64 * 1024 * 1024


# --- writing ---------------------------------------------------------------------------------------------


def encode(kind: Type, value: Json) -> bytes:
    """Raises `SchemaViolation`."""
    return b"".join(_written(kind, value, ""))


def _written(kind: Type, value: Json, place: str) -> Iterator[bytes]:
    match kind:
        case Primitive():
            yield _primitive(kind, value, place)
        case Record():
            yield from _record(kind, value, place)
        case Enum():
            if not isinstance(value, str) or value not in kind.symbols:
                raise _misfit(place, f"should be one of {', '.join(kind.symbols[:20])}")
            yield _zigzag(kind.symbols.index(value))
        case Fixed():
            yield _fixed(kind, value, place)
        case Array():
            if not isinstance(value, list):
                raise _misfit(place, "should be a list")
            if value:
                yield _zigzag(len(value))
            for index, item in enumerate(value):
                yield from _written(kind.items, item, f"{place}/{index}")
            yield b"\0"
        case Map():
            if not isinstance(value, dict):
                raise _misfit(place, "should be an object")
            if value:
                yield _zigzag(len(value))
            for name, item in value.items():
                yield _text(name)
                yield from _written(kind.values, item, f"{place}/{name}")
            yield b"\0"
        case Union():
            yield from _union(kind, value, place)
        case _:
            assert_never(kind)


def _record(kind: Record, value: Json, place: str) -> Iterator[bytes]:
    if not isinstance(value, dict):
        raise _misfit(place, f"should be an object, a `{kind.name}`")
    known = {field.name for field in kind.fields}
    if more := next((name for name in value if name not in known), None):
        raise _misfit(f"{place}/{more}", f"is no field of `{kind.name}`")
    for field in kind.fields:
        inside = f"{place}/{field.name}"
        if field.name in value:
            yield from _written(field.type, value[field.name], inside)
        elif not field.has_default:
            raise _misfit(inside, "is missing")
        else:
            # A union's default is of its first branch.
            first = field.type.branches[0] if isinstance(field.type, Union) else field.type
            yield (b"\0" if isinstance(field.type, Union) else b"") + b"".join(
                _written(first, field.default, inside)
            )


def _union(kind: Union, value: Json, place: str) -> Iterator[bytes]:
    """The first branch that takes it."""
    if isinstance(value, dict) and len(value) == 1:
        [(name, inner)] = value.items()
        for index, branch in enumerate(kind.branches):
            if _name(branch) == name and not isinstance(branch, Map):
                yield _zigzag(index)
                yield from _written(branch, inner, f"{place}/{name}")
                return
    faults = []
    for index, branch in enumerate(kind.branches):
        try:
            written = list(_written(branch, value, place))
        except SchemaViolation as fault:
            faults.append((branch, fault))
            continue
        yield _zigzag(index)
        yield from written
        return
    # Where only one branch could have been meant, what it says is what is wrong.
    meant = (
        [fault for branch, fault in faults if isinstance(branch, Record)] if isinstance(value, dict) else []
    )
    if len(meant) == 1:
        raise meant[0]
    raise _misfit(place, f"should be one of {', '.join(map(_name, kind.branches))}")


def _name(kind: Type) -> str:
    match kind:
        case Primitive() | Record() | Enum() | Fixed():
            return kind.name
        case Array():
            return "array"
        case Map():
            return "map"
        case Union():
            return "union"
        case _:
            assert_never(kind)


def _primitive(kind: Primitive, value: Json, place: str) -> bytes:
    match kind.name:
        case "null":
            if value is None:
                return b""
            raise _misfit(place, "should be null")
        case "boolean":
            if isinstance(value, bool):
                return b"\1" if value else b"\0"
            raise _misfit(place, "should be true or false")
        case "int" | "long":
            return _zigzag(_whole(kind, value, place))
        case "float" | "double":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _misfit(place, "should be a number")
            try:
                return struct.pack("<f" if kind.name == "float" else "<d", value)
            except (OverflowError, struct.error):
                raise _misfit(place, f"is too large for a {kind.name}") from None
        case "bytes":
            raw = _decimal(kind.scale, value, place) if kind.logical == "decimal" else _raw(value, place)
            return _zigzag(len(raw)) + raw
        case _:
            if not isinstance(value, str):
                raise _misfit(place, "should be a text")
            return _text(value)


def _whole(kind: Primitive, value: Json, place: str) -> int:
    if isinstance(value, str) and kind.logical is not None:
        return _of_time(kind.logical, value, place)
    bound = 1 << BITS[kind.name]
    if isinstance(value, bool) or not isinstance(value, int) or not -bound <= value < bound:
        raise _misfit(place, f"should be a whole number of the type {kind.name}")
    return value


def _of_time(logical: str, text: str, place: str) -> int:
    try:
        if logical == "date":
            return (date.fromisoformat(text) - DAY_ZERO).days
        unit = UNITS[logical]
        if logical.startswith("time-"):
            at = time.fromisoformat(text)
            parts = timedelta(
                hours=at.hour, minutes=at.minute, seconds=at.second, microseconds=at.microsecond
            )
            return parts // unit
        found = datetime.fromisoformat(text)
        return ((found if found.tzinfo else found.replace(tzinfo=UTC)) - EPOCH) // unit
    except (ValueError, KeyError):
        raise _misfit(place, f"should be a whole number, or a text that is a {logical}") from None


def _raw(value: Json, place: str) -> bytes:
    try:
        if isinstance(value, str):
            return value.encode("latin-1")
    except UnicodeEncodeError:
        pass
    raise _misfit(place, "should be bytes: a text of characters up to 255")


def _decimal(scale: int, value: Json, place: str) -> bytes:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InvalidOperation
        scaled = Decimal(str(value)).scaleb(scale)
        if scaled != scaled.to_integral_value():
            raise InvalidOperation
        whole = int(scaled)
    except (InvalidOperation, ValueError, OverflowError):
        raise _misfit(place, f"should be a decimal with at most {scale} places") from None
    return whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True)


def _fixed(kind: Fixed, value: Json, place: str) -> bytes:
    if kind.logical == "decimal":
        short = _decimal(kind.scale, value, place)
        raw = (b"\xff" if short[0] & 0x80 else b"\0") * (kind.size - len(short)) + short
    else:
        raw = _raw(value, place)
    if len(raw) != kind.size:
        raise _misfit(place, f"should be {kind.size} bytes")
    return raw


def _text(value: str) -> bytes:
    raw = value.encode(errors="replace")
    return _zigzag(len(raw)) + raw


def _zigzag(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    found = bytearray()
    while left & ~0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)


def _misfit(place: str, why: str) -> SchemaViolation:
    return SchemaViolation(f"`{place or '/'}` {why}")


# --- reading ---------------------------------------------------------------------------------------------


def decode(kind: Type, data: bytes) -> Json:
    """Raises `Undecodable`."""
    reader = _Reader(data)
    try:
        value = reader.read(kind)
    except (IndexError, struct.error, UnicodeDecodeError, OverflowError, ValueError, RecursionError):
        raise Undecodable("it is not what its Avro schema says") from None
    if reader.at != len(data):
        raise Undecodable("there is more in it than its Avro schema says")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self.at, self._items = data, 0, 0

    def read(self, kind: Type) -> Json:
        match kind:
            case Primitive():
                return self._primitive(kind)
            case Record():
                return {field.name: self.read(field.type) for field in kind.fields}
            case Enum():
                return kind.symbols[self._index(len(kind.symbols))]
            case Fixed():
                raw = self._take(kind.size)
                return _shown(raw, kind.scale) if kind.logical == "decimal" else raw.decode("latin-1")
            case Array():
                return [self.read(kind.items) for _ in self._blocks()]
            case Map():
                return {self._text(): self.read(kind.values) for _ in self._blocks()}
            case Union():
                return self.read(kind.branches[self._index(len(kind.branches))])
            case _:
                assert_never(kind)

    def _primitive(self, kind: Primitive) -> Json:
        match kind.name:
            case "null":
                return None
            case "boolean":
                return self._take(1) != b"\0"
            case "int" | "long":
                return _time_shown(kind.logical, self._whole())
            case "float" | "double":
                form, size = ("<f", 4) if kind.name == "float" else ("<d", 8)
                number: float = struct.unpack(form, self._take(size))[0]
                return number if number == number and abs(number) != float("inf") else None
            case "bytes":
                raw = self._take(self._whole())
                return _shown(raw, kind.scale) if kind.logical == "decimal" else raw.decode("latin-1")
            case _:
                return self._text()

    def _blocks(self) -> Iterator[None]:
        while count := self._whole():
            if count < 0:
                count = -count
                self._whole()  # its size in bytes, for who wants to pass over it
            self._items += count
            # What takes no bytes could go on for ever.
            if self._items > LARGEST:
                raise ValueError("too many items")
            for _ in range(count):
                yield

    def _index(self, count: int) -> int:
        found = self._whole()
        if not 0 <= found < count:
            raise IndexError(found)
        return found

    def _text(self) -> str:
        return self._take(self._whole()).decode()

    def _take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self._data):
            raise IndexError(size)
        self.at += size
        return self._data[self.at - size : self.at]

    def _whole(self) -> int:
        found = shift = 0
        while True:
            byte = self._data[self.at]
            self.at += 1
            found |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return (found >> 1) ^ -(found & 1)
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")


def _shown(raw: bytes, scale: int) -> str:
    return str(Decimal(int.from_bytes(raw, "big", signed=True)).scaleb(-scale))


def _time_shown(logical: str | None, value: int) -> Json:
    """A moment as texts have it; what is no moment that can be written stays a number."""
    try:
        if logical == "date":
            return (DAY_ZERO + timedelta(days=value)).isoformat()
        if logical in UNITS and not logical.startswith("time-"):
            at = (EPOCH + value * UNITS[logical]).isoformat()
            return at.removesuffix("+00:00") + ("" if logical.startswith("local") else "Z")
    except OverflowError:
        pass
    return value
