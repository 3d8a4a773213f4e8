"""The types of columns: one Python side, and what each database makes of it.

Text that one of the databases could not hold (a NUL, half a surrogate pair, a key that is too long) is
refused on all of them alike, before a statement is sent.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from math import isfinite
from typing import Any

import orjson
from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, String, Text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.types import TypeDecorator, TypeEngine

from muster.model.aside import LARGE
from muster.model.json import Json
from muster.model.problems import AuthorError, Problem
from muster.model.text import is_suitable

# Made once: `json.dumps` with options makes one for every value, which takes longer than the encoding.
_encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
STRING_OR_BIG_FLOAT = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9.]+e\+[0-9]+')
NUL = "text with a NUL character cannot be stored"
HALF_A_PAIR = "text with half a surrogate pair cannot be stored"
NOTHING_BUT_JSON = (
    orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
)
# For finding numbers that not every encoder spells alike, those with an exponent: what is before a value
# becomes a colon, and what is in other numbers goes.
BEFORE_VALUES, IN_NUMBERS = bytes.maketrans(b",[", b"::"), b"0123456789.-"
ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class Unstorable(AuthorError, DontWrapMixin):
    """A value that not every database can hold; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(Problem("UNSTORABLE", "", message))


def check_text(text: str, limit: int | None = None) -> str:
    """The text itself, if every database can hold it. Raises `Unstorable`."""
    if not is_suitable(text):
        raise Unstorable(HALF_A_PAIR if "\0" not in text else NUL)
    if limit is not None and len(text) > limit:
        raise Unstorable(f"text of {len(text)} characters is too long: at most {limit} can be stored")
    return text


def is_storable(text: str, limit: int) -> bool:
    """Whether such a text could be in a column at all; if not, no row has it and there is no need to ask."""
    try:
        check_text(text, limit)
    except Unstorable:
        return False
    return True


def json_text(value: Json) -> str:
    """JSON as it is stored: compact, in the order given. Raises `Unstorable`."""
    quick = quick_text(value)
    if quick is not None:
        return quick
    try:
        text = _encode_json(value)
    except ValueError:
        raise Unstorable("JSON has no NaN and no infinity, so they cannot be stored") from None
    if "e+" in text:
        text = STRING_OR_BIG_FLOAT.sub(_spell_out, text)
    if "\\u0000" in text and ESCAPED_NUL.search(text):
        raise Unstorable(NUL)
    return check_text(text)


def quick_text(value: Json) -> str | None:
    """The same for a value that is plain: most are, and it takes a fraction of the time. It is surely no more
    than `LARGE`. None: it is not plain, or is for `json_text` to judge."""
    try:
        text = orjson.dumps(value, None, NOTHING_BUT_JSON)
    except TypeError:  # a key that is no text, half a surrogate pair, a long integer, or nested too deep
        return None
    if len(text) > LARGE or b"\\u0000" in text or _has_odd_numbers(text):
        return None
    # It spells NaN so, too.
    return None if b"null" in text and _has_infinities(value) else text.decode()


def _has_odd_numbers(text: bytes) -> bool:
    """Whether there may be one with an exponent, or one so small that others give it one. (Or a text that
    looks so, which does no harm.)"""
    rest = text.translate(BEFORE_VALUES, IN_NUMBERS)
    return b":e" in rest or rest.startswith(b"e") or b"0.0000" in text


def _has_infinities(value: Json) -> bool:
    """Or what is no number."""
    if isinstance(value, dict | list):
        return any(map(_has_infinities, value.values() if isinstance(value, dict) else value))
    return type(value) is float and not isfinite(value)


def _spell_out(found: re.Match[str]) -> str:
    # JSONB keeps 1e+22 as an integer, and 10000000000000000000000.0 as it is.
    return found[0] if found[0].startswith('"') else f"{float(found[0]):.1f}"


class Key(TypeDecorator[str]):
    """A text that identifies: compared byte for byte and sorted by code point on every database.

    (MariaDB does so by the collation of the table, see `tables.py`.)
    """

    impl = String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(String(self.length, collation="C"))
        return dialect.type_descriptor(String(self.length))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else check_text(value, self.length)


class LongText(TypeDecorator[str]):
    """Text of any length."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        # MariaDB's TEXT ends at 64 KiB.
        return dialect.type_descriptor(mysql.LONGTEXT() if dialect.name == "mariadb" else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else check_text(value)


class Bytes(TypeDecorator[bytes]):
    """Bytes of any number."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        # MariaDB's BLOB ends at 64 KiB.
        return dialect.type_descriptor(mysql.LONGBLOB() if dialect.name == "mariadb" else LargeBinary())


class UtcTime(TypeDecorator[datetime]):
    """A moment with microseconds: aware in, aware and in UTC out, sortable as it is stored."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        match dialect.name:
            case "postgresql":
                return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True))
            case "mariadb":
                return dialect.type_descriptor(mysql.DATETIME(fsp=6))
            case _:
                return dialect.type_descriptor(String(27))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise Unstorable(f"the time {value.isoformat()} has no time zone, so it cannot be stored")
        moment = _in_utc(value)
        match dialect.name:
            case "postgresql":
                return moment
            case "mariadb":
                return moment.replace(tzinfo=None)
            case _:
                return time_text(moment)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        moment: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
        # MariaDB has no zones, and asyncpg gives the last moment of the year 9999 without one.
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _in_utc(value: datetime) -> datetime:
    if value.tzinfo is UTC:
        return value
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise Unstorable(f"the time {value.isoformat()} is before year 1 or after year 9999 in UTC") from None


def time_text(moment: datetime) -> str:
    """A time as SQLite keeps it: of one length, so that the order of the texts is the order of the times."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class JsonText(str):
    """JSON that is encoded already, by `json_text`."""

    __slots__ = ()


class JsonValue(TypeDecorator[Json]):
    """JSON; None is the database's NULL. Big integers stay exact; PostgreSQL orders keys its own way."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        match dialect.name:
            case "postgresql":
                return dialect.type_descriptor(RawJsonb())
            case "mariadb":
                return dialect.type_descriptor(RawJson())
            case _:
                return dialect.type_descriptor(Text())

    def process_bind_param(self, value: Json, dialect: Dialect) -> str | None:
        if type(value) is JsonText:
            return str(value)
        return None if value is None else json_text(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Json:
        # The PostgreSQL driver has decoded it already.
        done = value is None or dialect.name == "postgresql"
        decoded: Json = value if done else json.loads(value)
        return decoded


class RawJsonb(postgresql.JSONB):
    """JSONB that is given text: `JsonValue` has encoded it."""

    def bind_processor(self, dialect: Dialect) -> None:
        return None

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        return None


class RawJson(mysql.JSON):
    """JSON that is given and gives text: `JsonValue` encodes and decodes it."""

    def bind_processor(self, dialect: Dialect) -> None:
        return None

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        return None


# SQLite numbers rows by itself only where the column's type is spelled INTEGER.
RowId = BigInteger().with_variant(Integer(), "sqlite")

Encoder = Callable[[Any], Any]


def encoder(column_type: TypeEngine[Any], dialect: Dialect) -> Encoder | None:
    """What a value of this type goes through on its way to the driver. None: nothing."""
    if isinstance(column_type, Key | LongText | UtcTime | JsonValue):
        # Straight to it: SQLAlchemy's own way there takes longer than the work itself.
        return partial(column_type.process_bind_param, dialect=dialect)
    return column_type.dialect_impl(dialect).bind_processor(dialect)
