"""Many rows at a time on SQLite and MariaDB, by statements that are put together as texts.

SQLAlchemy would compile a statement for every number of rows, which takes many times as long as running it.
(PostgreSQL has a way of its own, see `postgres.py`.)
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import Connection, Dialect, Row, Table

from muster.store.types import Encoder, encoder

Rows = Sequence[Mapping[str, object]]
Names = tuple[str, ...]


def insert(connection: Connection, table: Table, names: Names, rows: Rows) -> None:
    statement = _inserting(table, names, connection.dialect) + _places(connection.dialect, len(names))
    _run_each(connection, statement, _values(table, names, rows, connection.dialect))


def insert_at_once(
    connection: Connection,
    table: Table,
    names: Names,
    rows: Rows,
    conflict: str,
    returning: Sequence[str],
    ignoring: bool = False,
) -> Sequence[Row[Any]]:
    """One statement for all rows, which are not too many for one. `ignoring`: MariaDB's `IGNORE`."""
    dialect = connection.dialect
    places = ", ".join([_places(dialect, len(names))] * len(rows))
    into = _inserting(table, names, dialect, ignoring)
    statement = f"{into}{places}{conflict} RETURNING {quoted(dialect, returning)}"
    values = _values(table, names, rows, dialect)
    return connection.exec_driver_sql(statement, tuple(value for row in values for value in row)).all()


def upsert(connection: Connection, table: Table, names: Names, rows: Rows, key: Names) -> None:
    statement = _upserting(table, names, key, connection.dialect)
    _run_each(connection, statement, _values(table, names, rows, connection.dialect))


def update(connection: Connection, table: Table, names: Names, rows: Rows, key: Names) -> None:
    changed = tuple(name for name in names if name not in key)
    statement = _updating(table, changed, key, connection.dialect)
    _run_each(connection, statement, _values(table, changed + key, rows, connection.dialect))


def change(connection: Connection, table: Table, names: Names, rows: Rows, key: str, version: str) -> int:
    """Give each row that is still of the version which the new row names its other columns, and the next
    version; how many there were."""
    changed = tuple(name for name in names if name not in (key, version))
    statement = _changing(table, changed, key, version, connection.dialect)
    values = _values(table, (*changed, key, version), rows, connection.dialect)
    return connection.exec_driver_sql(statement, values if len(values) > 1 else values[0]).rowcount


def among(
    connection: Connection, table: Table, key: str, wanted: Sequence[str], columns: Names
) -> Sequence[Row[Any]]:
    """The columns of SQLite's rows that have one of these keys, in the order of the keys."""
    statement = _among(table, key, columns, connection.dialect)
    return connection.exec_driver_sql(statement, (orjson.dumps(wanted).decode(),)).all()


def quoted(dialect: Dialect, names: Iterable[str]) -> str:
    return ", ".join(dialect.identifier_preparer.quote(name) for name in names)


def _run_each(connection: Connection, statement: str, values: list[tuple[object, ...]]) -> None:
    # One alone goes as one: the drivers' way for many does more for each statement.
    connection.exec_driver_sql(statement, values if len(values) > 1 else values[0])


def _values(table: Table, names: Names, rows: Rows, dialect: Dialect) -> list[tuple[object, ...]]:
    columns = (_column(name, encode, rows) for name, encode in _encoders(table, names, dialect))
    return list(zip(*columns, strict=True))


def _column(name: str, encode: Encoder | None, rows: Rows) -> list[object]:
    """What comes several times in a row, as the time does at which a batch was received, is encoded once."""
    if encode is None:
        return [row[name] for row in rows]
    last, encoded = rows[0][name], encode(rows[0][name])
    values = [encoded]
    for row in rows[1:]:
        value = row[name]
        if value is not last:
            last, encoded = value, encode(value)
        values.append(encoded)
    return values


@lru_cache(maxsize=512)
def _encoders(table: Table, names: Names, dialect: Dialect) -> tuple[tuple[str, Encoder | None], ...]:
    return tuple((name, encoder(table.c[name].type, dialect)) for name in names)


@lru_cache(maxsize=512)
def _inserting(table: Table, names: Names, dialect: Dialect, ignoring: bool = False) -> str:
    name = dialect.identifier_preparer.format_table(table)
    return f"INSERT {'IGNORE ' if ignoring else ''}INTO {name} ({quoted(dialect, names)}) VALUES "


@lru_cache(maxsize=64)
def _places(dialect: Dialect, count: int) -> str:
    return f"({', '.join([_place(dialect)] * count)})"


def _place(dialect: Dialect) -> str:
    return "?" if dialect.paramstyle == "qmark" else "%s"


@lru_cache(maxsize=512)
def _upserting(table: Table, names: Names, key: Names, dialect: Dialect) -> str:
    others = [quoted(dialect, [name]) for name in names if name not in key]
    if dialect.name == "sqlite":
        values = ", ".join(f"{name} = excluded.{name}" for name in others)
        conflict = f"ON CONFLICT ({quoted(dialect, key)}) DO UPDATE SET {values}"
    else:
        values = ", ".join(f"{name} = VALUES({name})" for name in others)
        conflict = f"ON DUPLICATE KEY UPDATE {values}"
    return f"{_inserting(table, names, dialect)}{_places(dialect, len(names))} {conflict}"


@lru_cache(maxsize=512)
def _updating(table: Table, changed: Names, key: Names, dialect: Dialect) -> str:
    place = _place(dialect)
    values = ", ".join(f"{quoted(dialect, [name])} = {place}" for name in changed)
    found = " AND ".join(f"{quoted(dialect, [name])} = {place}" for name in key)
    return f"UPDATE {dialect.identifier_preparer.format_table(table)} SET {values} WHERE {found}"


@lru_cache(maxsize=64)
def _changing(table: Table, changed: Names, key: str, version: str, dialect: Dialect) -> str:
    place, next_one = _place(dialect), quoted(dialect, [version])
    values = ", ".join(f"{quoted(dialect, [name])} = {place}" for name in changed)
    same = f"{quoted(dialect, [key])} = {place} AND {next_one} = {place}"
    name = dialect.identifier_preparer.format_table(table)
    return f"UPDATE {name} SET {values}, {next_one} = {next_one} + 1 WHERE {same}"


@lru_cache(maxsize=64)
def _among(table: Table, key: str, columns: Names, dialect: Dialect) -> str:
    name, found = dialect.identifier_preparer.format_table(table), quoted(dialect, [key])
    among = f"{found} IN (SELECT value FROM json_each(?))"
    return f"SELECT {quoted(dialect, columns)} FROM {name} WHERE {among} ORDER BY {found}"
