"""Sets of rows that the databases find, lock and count in their own ways (see `dialect.py`)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import orjson
from sqlalchemy import Connection, Dialect, Row, Select, Table, bindparam, select, text, tuple_
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.exc import IntegrityError

from muster.store import postgres, row_texts
from muster.store.copying import copy
from muster.store.database import LookAgain
from muster.store.dialect import MOST_PARAMETERS, insert_new, insert_rows, update_rows

Rows = Sequence[Mapping[str, object]]
Names = tuple[str, ...]


# So many are worth a statement that has to be read anew every time.
COPIED = 20
# After one that was in vain.
TRIES_WITHOUT = 50


def add_new(connection: Connection, table: Table, rows: Rows, key: Names | None = None) -> bool:
    """Insert rows whose keys nobody is thought to have, in a transaction that is under way. With a `key`,
    False says that somebody has one of them all the same, and nothing more can be done in it; without one,
    that is an error."""
    if connection.dialect.name != "postgresql" or len(rows) < COPIED:
        if key is None:
            insert_rows(connection, table, rows)
            return True
        return len(insert_new(connection, table, rows, key)) == len(rows)
    try:
        copy(connection, table, rows)
    except IntegrityError:
        if key is None:
            raise
        return False
    return True


def add_others(connection: Connection, table: Table, rows: Rows, key: Names) -> set[tuple[Any, ...]] | None:
    """Insert the rows whose `key` nobody has, and say which: their keys; None: all of them. It is quickest
    where nobody has any."""
    if connection.dialect.name != "postgresql" or len(rows) < COPIED:
        return insert_new(connection, table, rows, key)
    place = f"muster.in_vain.{table.name}"
    if without := connection.info.get(place, 0):
        connection.info[place] = without - 1
        return insert_new(connection, table, rows, key)
    try:
        with connection.begin_nested():
            copy(connection, table, rows)
    except IntegrityError:
        # Where some come again there will be more of them.
        connection.info[place] = TRIES_WITHOUT
        return insert_new(connection, table, rows, key)
    return None


def add_up(connection: Connection, table: Table, rows: Rows, key: Names) -> None:
    """Add the other columns of these rows to those of the rows with their keys, or insert them. It locks them
    in the order given, so that is everybody's. A key comes once among them."""
    if not rows:
        return
    others = tuple(name for name in rows[0] if name not in key)
    match connection.dialect.name:
        case "postgresql":
            name, dialect = table.name, connection.dialect
            sums = ", ".join(f"{each} = {name}.{each} + excluded.{each}" for each in others)
            conflict = f"ON CONFLICT ({postgres.quoted(dialect, key)}) DO UPDATE SET {sums}"
            postgres.insert(connection, table, (*key, *others), rows, conflict)
        case "sqlite":
            connection.execute(_sqlite_add(table, others, key), list(rows))
        case _:
            connection.execute(_mariadb_add(table, others), list(rows))


@lru_cache(maxsize=64)
def _sqlite_add(table: Table, others: Names, key: Names) -> sqlite.Insert:
    new = sqlite.insert(table)
    sums = {name: table.c[name] + new.excluded[name] for name in others}
    return new.on_conflict_do_update(index_elements=key, set_=sums)


@lru_cache(maxsize=64)
def _mariadb_add(table: Table, others: Names) -> mysql.Insert:
    new = mysql.insert(table)
    return new.on_duplicate_key_update({name: table.c[name] + new.inserted[name] for name in others})


def hold_last(
    connection: Connection, table: Table, key: Names, wanted: Sequence[tuple[Any, ...]], order: str
) -> Sequence[Row[Any]]:
    """Of the rows with each of these keys the one that is last by `order`. They are locked, in the order of
    the keys; but not on PostgreSQL, where a lock is as dear as a write: there `change_held` finds out."""
    keys = sorted(set(wanted))
    if not keys:
        return []
    if connection.dialect.name == "postgresql":
        statement = _last(table, key, order, connection.dialect)
        document = [dict(zip(key, each, strict=True)) for each in keys]
        return connection.exec_driver_sql(statement, (orjson.dumps(document).decode(),)).all()
    last: dict[tuple[Any, ...], Row[Any]] = {}
    size = MOST_PARAMETERS // len(key)
    for start in range(0, len(keys), size):
        for row in connection.execute(_all_of(table, key, order), {"wanted": keys[start : start + size]}):
            last[tuple(getattr(row, name) for name in key)] = row
    return list(last.values())


@lru_cache(maxsize=64)
def _all_of(table: Table, key: Names, order: str) -> Select[Any]:
    columns = [table.c[name] for name in key]
    found = select(table).where(tuple_(*columns).in_(bindparam("wanted", expanding=True)))
    return found.order_by(*columns, table.c[order]).with_for_update()


@lru_cache(maxsize=64)
def _last(table: Table, key: Names, order: str, dialect: Dialect) -> str:
    # A look for each key: a plan for `IN`, made while the table was empty, reads all of it ever after.
    quoted = [postgres.quoted(dialect, [name]) for name in key]
    found = " AND ".join(f"{name} = new.{name}" for name in quoted)
    one = f"SELECT * FROM {table.name} WHERE {found} ORDER BY {order} DESC LIMIT 1"
    return f"SELECT found.* FROM {postgres.record(table, key, dialect)} CROSS JOIN LATERAL ({one}) AS found"


def hold_all(
    connection: Connection, table: Table, key: str, wanted: Sequence[int], order: Names
) -> Sequence[Row[Any]]:
    """The rows that have these keys, locked in the order in which others lock them: where `hold_last` locks,
    in the order of its keys; else in that of `change_held`."""
    by = order if connection.dialect.name == "mariadb" else (key,)
    return connection.execute(_held(table, key, by), {"wanted": sorted(wanted)}).all()


@lru_cache(maxsize=64)
def _held(table: Table, key: str, by: Names) -> Select[Any]:
    found = select(table).where(table.c[key].in_(bindparam("wanted", expanding=True)))
    return found.order_by(*(table.c[name] for name in by)).with_for_update()


def finds_out(connection: Connection) -> bool:
    """Whether `change_held` finds out by itself that somebody else has changed a row, so that it may have
    been read however long ago. (On MariaDB a row is held from when it was read.)"""
    return connection.dialect.name != "mariadb"


def change_held(connection: Connection, table: Table, rows: Rows, key: str, version: str) -> None:
    """Give each row that was held, and is as it was then, the new row's other columns, and the next version.
    Raises `LookAgain` if somebody else has changed one."""
    if not rows:
        return
    names, dialect = tuple(rows[0]), connection.dialect
    match dialect.name:
        case "mariadb":
            changed = [{**row, version: cast("int", row[version]) + 1} for row in rows]
            update_rows(connection, table, changed, (key,))
            return
        case "sqlite":
            changes = row_texts.change(connection, table, names, rows, key, version)
        case _:
            document = orjson.dumps(postgres.documents(table, names, rows, dialect)).decode()
            statement = _change(table, names, key, version, dialect)
            changes = connection.exec_driver_sql(statement, (document,)).rowcount
    if changes != len(rows):
        raise LookAgain("somebody else has changed what was read")


@lru_cache(maxsize=64)
def _change(table: Table, names: Names, key: str, version: str, dialect: Dialect) -> str:
    values = [f"{name} = new.{name}" for name in names if name not in (key, version)]
    next_one = f"{version} = new.{version} + 1"
    same = f"{table.name}.{key} = new.{key} AND {table.name}.{version} = new.{version}"
    new = postgres.record(table, names, dialect)
    return f"UPDATE {table.name} SET {', '.join([*values, next_one])} FROM {new} WHERE {same}"


def lock_free(connection: Connection, table: Table, key: str, wanted: Sequence[int]) -> Sequence[Row[Any]]:
    """Lock the rows that have these keys, in the order given; those that somebody else holds are passed
    over."""
    if not wanted:
        return []
    if connection.dialect.name == "postgresql":
        numbers = orjson.dumps(list(wanted)).decode()
        return connection.exec_driver_sql(_free(table, key), (numbers,)).all()
    found: list[Row[Any]] = []
    for start in range(0, len(wanted), MOST_PARAMETERS):
        part = wanted[start : start + MOST_PARAMETERS]
        found += connection.execute(_any_free(table, key), {"wanted": part}).all()
    return found


@lru_cache(maxsize=64)
def _any_free(table: Table, key: str) -> Select[Any]:
    found = select(table).where(table.c[key].in_(bindparam("wanted", expanding=True)))
    return found.order_by(table.c[key]).with_for_update(skip_locked=True)


@lru_cache(maxsize=64)
def _free(table: Table, key: str) -> str:
    # A look for each key, as above. Not by `IN`: it may read the whole table in the order that is asked for.
    one = f"SELECT * FROM {table.name} WHERE {key} = wanted.id::bigint FOR UPDATE SKIP LOCKED"
    numbers = "json_array_elements_text($1::text::json) AS wanted (id)"
    return f"SELECT found.* FROM {numbers} CROSS JOIN LATERAL ({one}) AS found"


def rows_of(
    connection: Connection, table: Table, column: str, wanted: Sequence[int], where: str
) -> Sequence[Row[Any]]:
    """The rows that have one of these numbers in a column with an index, and for which `where` holds."""
    if not wanted:
        return []
    if connection.dialect.name == "postgresql":
        statement = _each_of(table, column, where)
        return connection.exec_driver_sql(statement, (orjson.dumps(list(wanted)).decode(),)).all()
    found: list[Row[Any]] = []
    for start in range(0, len(wanted), MOST_PARAMETERS):
        part = wanted[start : start + MOST_PARAMETERS]
        found += connection.execute(_any_of(table, column, where), {"wanted": part}).all()
    return found


@lru_cache(maxsize=64)
def _any_of(table: Table, column: str, where: str) -> Select[Any]:
    return select(table).where(table.c[column].in_(bindparam("wanted", expanding=True)), text(where))


@lru_cache(maxsize=64)
def _each_of(table: Table, column: str, where: str) -> str:
    # By the index of this column: if few rows were as `where` says when the plan was made, it would read all
    # of those ever after, for each of the numbers.
    those = f"SELECT * FROM {table.name} WHERE {column} = wanted.id::bigint OFFSET 0"
    one = f"SELECT * FROM ({those}) AS those WHERE {where}"
    numbers = "json_array_elements_text($1::text::json) AS wanted (id)"
    return f"SELECT found.* FROM {numbers} CROSS JOIN LATERAL ({one}) AS found"
