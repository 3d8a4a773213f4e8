"""Camunda's typed variables, to JSON and back."""

import json
import math
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.definitions.pointers import child
from muster.model.json import Json, JsonObject
from muster.model.problems import AuthorError, Problem

INTEGER, LONG, SHORT = 2**31, 2**63, 2**15
TYPED = frozenset({"type", "value", "valueInfo"})
AS_JSON = "application/json"
OBJECT_INFO: JsonObject = {"serializationDataFormat": AS_JSON, "objectTypeName": "java.lang.Object"}


class BadVariable(AuthorError):
    """A variable whose value is not of its type."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(Problem("INVALID_VALUE", pointer, message))


def moment(at: datetime) -> str:
    """A time as Camunda writes it: to the millisecond, with the offset."""
    utc = at.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}+0000"


# --- to workers ------------------------------------------------------------------------------------------


def typed(value: Json) -> JsonObject:
    """A variable as workers get it. What is written as one, with its type and value, is that."""
    if isinstance(value, dict) and {"type", "value"} <= value.keys() <= TYPED:
        made = _as_asked(value)
        if made is not None:
            return made
    kind = _kind(value)
    return {"type": kind, "value": _json(value) if kind == "Json" else value, "valueInfo": {}}


def _kind(value: Json) -> str:
    match value:
        case None:
            return "Null"
        case bool():
            return "Boolean"
        case str():
            return "String"
        case int():
            if -INTEGER <= value < INTEGER:
                return "Integer"
            return "Long" if -LONG <= value < LONG else "Json"
        case float():
            return "Double"
        case _:
            return "Json"


def _as_asked(given: JsonObject) -> JsonObject | None:
    """None: it only looks like a typed variable."""
    name, value, info = given["type"], given["value"], given.get("valueInfo")
    told = info if isinstance(info, dict) else {}
    kind = str(name).lower()
    if kind in ("json", "object"):
        text = value if isinstance(value, str) else _json(value)
        written = OBJECT_INFO if kind == "object" else {}
        return {"type": kind.title(), "value": text, "valueInfo": told or written}
    if kind not in READERS:
        return None
    try:
        read = READERS[kind](value, told)
    except ValueError:
        return None
    if kind == "date" and isinstance(read, str):
        read = moment(datetime.fromisoformat(read))
    return {"type": kind.title(), "value": read, "valueInfo": told}


def _json(value: Json) -> str:
    # Not orjson's, which has no whole numbers of more than 64 bits.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- from workers ----------------------------------------------------------------------------------------


def untyped(variables: Mapping[str, Json] | None, pointer: str) -> JsonObject:
    """What a worker gives, as plain JSON. Raises `BadVariable`, by its place."""
    return {name: _untyped(given, child(pointer, name)) for name, given in (variables or {}).items()}


def _untyped(given: Json, pointer: str) -> Json:
    if not isinstance(given, dict):
        raise BadVariable(pointer, "A variable should be an object with a `value` and a `type`.")
    value, name, info = given.get("value"), given.get("type"), given.get("valueInfo")
    if name is None:
        return value
    kind = str(name).lower()
    if kind not in READERS:
        raise BadVariable(child(pointer, "type"), f"Unsupported value type '{str(name)[:100]}'.")
    if value is None:
        return None
    try:
        return READERS[kind](value, info if isinstance(info, dict) else {})
    except ValueError as error:
        raise BadVariable(child(pointer, "value"), f"This is no {name}: {error}.") from None


def _text(value: Json, info: JsonObject) -> Json:
    if not isinstance(value, str):
        raise ValueError("a text was expected")
    return value


def _flag(value: Json, info: JsonObject) -> Json:
    if not isinstance(value, bool):
        raise ValueError("true or false was expected")
    return value


def _whole(bound: int) -> Callable[[Json, JsonObject], Json]:
    def read(value: Json, info: JsonObject) -> Json:
        if isinstance(value, bool) or not isinstance(value, int) or not -bound <= value < bound:
            raise ValueError(f"a whole number from {-bound} to {bound - 1} was expected")
        return value

    return read


def _number(value: Json, info: JsonObject) -> Json:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a number was expected")
    return value


def _nothing(value: Json, info: JsonObject) -> Json:
    if value is not None:
        raise ValueError("nothing was expected")
    return None


def _date(value: Json, info: JsonObject) -> Json:
    """As ISO 8601 in UTC, as times are in contexts."""
    if not isinstance(value, str):
        raise ValueError("a time such as 2026-03-01T12:00:00.000+0000 was expected")
    try:
        found = datetime.fromisoformat(value)
        known = found if found.tzinfo else found.replace(tzinfo=UTC)
        return known.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):  # the first and last hours of all are none in UTC
        raise ValueError("a time such as 2026-03-01T12:00:00.000+0000 was expected") from None


def _document(value: Json, info: JsonObject) -> Json:
    """JSON as text, or, as some clients send it, as it is."""
    if not isinstance(value, str):
        return value
    try:
        return read_json(value.encode(), Limits())
    except AuthorError:
        raise ValueError("it cannot be read as JSON") from None


def _object(value: Json, info: JsonObject) -> Json:
    written_as = info.get("serializationDataFormat", AS_JSON)
    if written_as != AS_JSON:
        raise ValueError(f"objects are read as {AS_JSON}, not as {str(written_as)[:100]}")
    return _document(value, info)


def _file(value: Json, info: JsonObject) -> Json:
    """Its bytes, as Base64, and what is known of it."""
    names = ("filename", "mimeType", "encoding")
    known: JsonObject = {name: info[name] for name in names if name in info}
    return {**known, "value": _bytes(value, info)}


def _bytes(value: Json, info: JsonObject) -> Json:
    """As Base64, as they are kept."""
    try:
        b64decode("".join(str(_text(value, info)).split()), validate=True)  # it may be in lines
    except ValueError:
        raise ValueError("bytes as Base64 were expected") from None
    return value


READERS: Mapping[str, Callable[[Json, JsonObject], Json]] = {
    "string": _text,
    "xml": _text,
    "bytes": _bytes,
    "boolean": _flag,
    "short": _whole(SHORT),
    "integer": _whole(INTEGER),
    "long": _whole(LONG),
    "double": _number,
    "float": _number,
    "number": _number,
    "date": _date,
    "null": _nothing,
    "json": _document,
    "object": _object,
    "file": _file,
}
