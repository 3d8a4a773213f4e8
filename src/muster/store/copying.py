"""New rows of PostgreSQL by `COPY`: a line of text each, which it reads in less than half the time that it
takes for a document.

It is no statement of SQLAlchemy's, so it is only for transactions that are under way, and what the driver
says is told here as SQLAlchemy would.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Never

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy import Boolean, Connection, Dialect, Integer, Table
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.types import TypeEngine
from sqlalchemy.util.concurrency import await_only

from muster.store.database import FAILED
from muster.store.postgres import Names, Rows, find_unstorable, quoted
from muster.store.types import JsonText, JsonValue, UtcTime, json_text

NOTHING = "\\N"
_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})

Spell = Callable[[Any], str]


def copy(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert these rows; there is one, and all name the same columns. Raises `IntegrityError` where a key is
    taken: who can do without them has a savepoint around it."""
    driver: Any = connection.connection.driver_connection
    if not driver.is_in_transaction():
        raise RuntimeError("rows are copied only in a transaction that is under way")
    names = tuple(rows[0])
    try:
        text = lines(table, names, rows, connection.dialect).encode()
        # Anything but bytes, which would be taken for a path.
        copied = driver.copy_to_table(table.name, source=memoryview(text), columns=names, format="text")
        await_only(copied)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, UnicodeEncodeError) as refused:
        connection.info[FAILED] = True
        _say(connection, table, names, rows, refused)


def _say(connection: Connection, table: Table, names: Names, rows: Rows, refused: Exception) -> Never:
    find_unstorable([(table, names, rows)], connection.dialect, refused)
    if not isinstance(refused, asyncpg.PostgresError):
        # The connection is not there any more.
        raise ConnectionError(str(refused)) from refused
    taken = isinstance(refused, asyncpg.IntegrityConstraintViolationError)
    statement = f"COPY {table.name} ({quoted(connection.dialect, names)})"
    kind = IntegrityError if taken else DBAPIError
    raise kind(statement, None, refused, hide_parameters=True) from refused


def lines(table: Table, names: Names, rows: Rows, dialect: Dialect) -> str:
    """Rows in PostgreSQL's text format."""
    columns = (_column(spell, name, rows) for name, spell in _spellings(table, names, dialect))
    return "".join(f"{line}\n" for line in map("\t".join, zip(*columns, strict=True)))


def _column(spell: Spell, name: str, rows: Rows) -> Iterable[str]:
    """What comes several times in a row, as the time does at which a batch was received, is spelled once."""
    last, text, spelled = None, NOTHING, []
    for row in rows:
        value = row[name]
        if value is not last:
            last, text = value, NOTHING if value is None else spell(value)
        spelled.append(text)
    return spelled


@lru_cache(maxsize=64)
def _spellings(table: Table, names: Names, dialect: Dialect) -> tuple[tuple[str, Spell], ...]:
    return tuple((name, _spelling(table.c[name].type, dialect)) for name in names)


def _spelling(column_type: TypeEngine[Any], dialect: Dialect) -> Spell:
    match column_type:
        case JsonValue():
            return _json
        case UtcTime():
            return partial(_moment, column_type, dialect)
        case Boolean():
            return _truth
        case Integer():
            return str
        case _:
            return _text


def _text(value: str) -> str:
    return value.translate(_ESCAPES) if _SPECIAL.search(value) else value


def _json(value: Any) -> str:
    # Encoded, it has no tabs and no ends of lines.
    text = value if type(value) is JsonText else json_text(value)
    return text.replace("\\", "\\\\") if "\\" in text else text


def _truth(value: object) -> str:
    return "t" if value else "f"


def _moment(column_type: UtcTime, dialect: Dialect, at: datetime) -> str:
    moment: datetime = at if at.tzinfo is UTC else column_type.process_bind_param(at, dialect)
    return moment.isoformat()
