"""What SQLite, PostgreSQL and MariaDB spell differently.

Every write here takes many rows: a row alone is a batch of one. `SELECT … FOR UPDATE [SKIP LOCKED]` is not
here, because SQLAlchemy leaves it out on SQLite by itself, where a writing transaction is alone anyway.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    Text,
    bindparam,
    case,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import PrimaryKeyConstraint, UniqueConstraint
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction

from muster.store import postgres, row_texts
from muster.store.database import CLOCK
from muster.store.types import UtcTime, json_text

Rows = Sequence[Mapping[str, object]]

# The name under which every SQLite connection is given its clock (see `open.py`).
SQLITE_NOW = "muster_now"

# SQLite takes at most 32,766 parameters in a statement, PostgreSQL 32,767 and MariaDB 65,535.
MOST_PARAMETERS = 30_000

MOST_CHARACTERS = 2 * 1024 * 1024
LOCK_SECONDS = 600


class utc_now(GenericFunction[datetime]):
    """The database's clock, to the microsecond, at the moment the statement runs."""

    type = UtcTime()
    inherit_cache = True


@compiles(utc_now, "postgresql")
def _postgresql_now(element: utc_now, compiler: object, **_: object) -> str:
    return "clock_timestamp()"


@compiles(utc_now, "mariadb")
def _mariadb_now(element: utc_now, compiler: object, **_: object) -> str:
    return "utc_timestamp(6)"


@compiles(utc_now, "sqlite")
def _sqlite_now(element: utc_now, compiler: object, **_: object) -> str:
    return f"{SQLITE_NOW}()"


def _operands(element: FunctionElement[Any], compiler: SQLCompiler, options: Any) -> tuple[str, str]:
    """The column and the name that a function below is given, as they are spelled."""
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return column, name


class json_is_true(GenericFunction[bool]):
    """Whether the document in a column of JSON has `true` under a name: `json_is_true(column, "name")`."""

    type = Boolean()
    inherit_cache = True


@compiles(json_is_true, "postgresql")
def _postgresql_is_true(element: json_is_true, compiler: SQLCompiler, **options: Any) -> str:
    column, name = _operands(element, compiler, options)
    return f"coalesce({column} ->> {name} = 'true', false)"


@compiles(json_is_true, "mariadb")
def _mariadb_is_true(element: json_is_true, compiler: SQLCompiler, **options: Any) -> str:
    column, name = _operands(element, compiler, options)
    return f"coalesce(json_value({column}, concat('$.', {name})) = '1', false)"


@compiles(json_is_true, "sqlite")
def _sqlite_is_true(element: json_is_true, compiler: SQLCompiler, **options: Any) -> str:
    column, name = _operands(element, compiler, options)
    return f"coalesce(json_extract({column}, '$.' || {name}) = 1, 0)"


class json_member(GenericFunction[str]):
    """What the document in a column of JSON has under a name, as text; NULL: nothing, or it is no object."""

    type = Text()
    inherit_cache = True


@compiles(json_member, "postgresql")
def _postgresql_member(element: json_member, compiler: SQLCompiler, **options: Any) -> str:
    column, name = _operands(element, compiler, options)
    return f"({column} ->> {name})"


@compiles(json_member, "mariadb")
def _mariadb_member(element: json_member, compiler: SQLCompiler, **options: Any) -> str:
    column, name = _operands(element, compiler, options)
    return f"json_value({column}, concat('$.', {name}))"


@compiles(json_member, "sqlite")
def _sqlite_member(element: json_member, compiler: SQLCompiler, **options: Any) -> str:
    column, name = _operands(element, compiler, options)
    return f"json_extract({column}, '$.' || {name})"


THE_TIME = select(utc_now())


def now(connection: Connection) -> datetime:
    """The time by the database's own clock: what leases are counted on. Asked once in a transaction."""
    known: datetime | None = connection.info.get(CLOCK)
    if known is None:
        known = connection.info[CLOCK] = connection.execute(THE_TIME).scalar_one()
    return known


@contextmanager
def one_at_a_time(connection: Connection, name: str) -> Iterator[None]:
    """Wait until nobody else is in this place, in whichever process. SQLite's writers are alone already."""
    match connection.dialect.name:
        case "postgresql":
            # Ends with the transaction.
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))
            yield
        case "mariadb":
            # Of the whole server, so the database's name is part of it; a name has at most 64 characters.
            place = func.concat("muster.", func.md5(func.concat(func.database(), ".", name)))
            if connection.scalar(select(func.get_lock(place, LOCK_SECONDS))) != 1:
                raise TimeoutError(f"{name} is held by another process for more than {LOCK_SECONDS} seconds")
            try:
                yield
                # The lock does not end with the transaction, and whoever has it next is to see what was done.
                connection.exec_driver_sql("COMMIT")
            finally:
                connection.execute(select(func.release_lock(place)))
        case _:
            yield


# --- writing many rows -------------------------------------------------------------------------


def insert_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert many rows in as few statements as the database allows. All rows name the same columns; what
    they leave out takes the database's default."""
    if not rows:
        return
    names = _columns(rows)
    if connection.dialect.name == "postgresql":
        postgres.insert(connection, table, names, rows)
    else:
        row_texts.insert(connection, table, names, rows)


def insert_new(
    connection: Connection, table: Table, rows: Rows, key: Sequence[str], from_now: Sequence[str] = ()
) -> set[tuple[Any, ...]]:
    """Insert the rows whose `key` nobody has, and say which: their keys. Of two rows with one key, one wins.

    `key` names the columns of the table's primary key, or of one of its unique keys. The times in the columns
    `from_now` are told by how far they are from now, as durations. On PostgreSQL this is one statement.
    """
    if not rows:
        return set()
    names, dialect = _columns(rows), connection.dialect.name
    if dialect == "postgresql":
        conflict = f"ON CONFLICT ({postgres.quoted(connection.dialect, key)}) DO NOTHING"
        kept = postgres.insert(connection, table, names, rows, conflict, key, tuple(from_now))
        return {tuple(row) for row in kept}
    rows = _with_times(rows, from_now, now(connection)) if from_now else rows
    if dialect == "sqlite":
        parts = _parts(rows, len(names))
        return {tuple(row) for part in parts for row in _sqlite_new(connection, table, part, key)}
    parts = _light_parts(rows, len(names))
    return {place for part in parts for place in _mariadb_new(connection, table, part, key)}


def _with_times(rows: Rows, names: Sequence[str], at: datetime) -> Rows:
    return [{**row, **{name: _after(at, row[name]) for name in names}} for row in rows]


def _after(at: datetime, wait: object) -> datetime | None:
    return at + wait if isinstance(wait, timedelta) else None


def _sqlite_new(connection: Connection, table: Table, rows: Rows, key: Sequence[str]) -> Sequence[Row[Any]]:
    conflict = f" ON CONFLICT ({row_texts.quoted(connection.dialect, key)}) DO NOTHING"
    return row_texts.insert_at_once(connection, table, tuple(rows[0]), rows, conflict, key)


def _mariadb_new(
    connection: Connection, table: Table, rows: Rows, key: Sequence[str]
) -> Sequence[tuple[Any, ...]]:
    """`IGNORE` passes over every error, a missing parent or value say: what was left out, and is not there,
    is inserted once more without it, to hear why. (Lengths were checked on the way.)"""
    names = tuple(rows[0])
    needed = [name for name in names if not table.c[name].nullable]
    if any(row[name] is None for row in rows for name in needed):
        row_texts.insert(connection, table, names, rows)
    kept = [
        tuple(row) for row in row_texts.insert_at_once(connection, table, names, rows, "", key, ignoring=True)
    ]
    if len(kept) < len(rows):
        columns = [table.c[name] for name in key]
        given = {tuple(row[name] for name in key): row for row in rows}
        left = given.keys() - set(kept)
        # With a lock: the transaction may have begun to read before somebody else's was committed.
        there = select(*columns).where(tuple_(*columns).in_(sorted(left))).with_for_update(read=True)
        left -= {tuple(row) for row in connection.execute(there)} if left else set()
        if left:
            row_texts.insert(connection, table, names, [given[place] for place in sorted(left)])
    return kept


def upsert(connection: Connection, table: Table, rows: Rows, key: Sequence[str]) -> None:
    """Insert the rows; where `key` is taken, give that row the new row's other columns.

    A key comes only once among `rows`.
    """
    if not rows:
        return
    names = _columns(rows)
    if connection.dialect.name == "postgresql":
        postgres.upsert(connection, table, names, rows, tuple(key))
    else:
        # MariaDB's driver makes statements of about a megabyte of these: a server takes 16 at most.
        row_texts.upsert(connection, table, names, rows, tuple(key))


def update_rows(connection: Connection, table: Table, rows: Rows, key: Sequence[str]) -> None:
    """Give each row that `key` finds the new row's other columns. A key comes only once among `rows`."""
    if not rows:
        return
    names = _columns(rows)
    if connection.dialect.name == "postgresql":
        postgres.update(connection, table, names, rows, key)
    else:
        row_texts.update(connection, table, names, rows, tuple(key))


def see_one_moment(connection: Connection) -> None:
    """Said first in a transaction: all that it reads is as it was at one moment, whatever is committed
    meanwhile. (SQLite has it so.)"""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def lock_rows(
    connection: Connection, table: Table, key: str, wanted: Sequence[str], columns: Sequence[str]
) -> Sequence[Row[Any]]:
    """Lock the rows that have these keys, in the order of the keys, and give these columns of them (of types
    that need no decoding)."""
    if connection.dialect.name == "postgresql":
        return postgres.lock(connection, table, key, sorted(wanted), columns)
    if connection.dialect.name == "sqlite":  # where who writes is alone
        return row_texts.among(connection, table, key, wanted, tuple(columns))
    chosen = _lock(table, key, tuple(columns))
    return connection.execute(chosen, {"wanted": sorted(wanted)}).all()


@lru_cache(maxsize=64)
def _lock(table: Table, key: str, columns: tuple[str, ...]) -> Select[Any]:
    found = table.c[key].in_(bindparam("wanted", expanding=True))
    return select(*(table.c[name] for name in columns)).where(found).order_by(table.c[key]).with_for_update()


def present(connection: Connection, table: Table, column: str, values: Sequence[str]) -> set[str]:
    """Those of the values that some row has in this column, which has an index."""
    if connection.dialect.name == "postgresql":
        return postgres.present(connection, table, column, values)
    if connection.dialect.name == "sqlite":
        return {row[0] for row in row_texts.among(connection, table, column, values, (column,))}
    return set(connection.scalars(_present(table, column), {"wanted": values}))


@lru_cache(maxsize=64)
def _present(table: Table, column: str) -> Select[Any]:
    found = table.c[column]
    return select(found).where(found.in_(bindparam("wanted", expanding=True))).distinct()


class Claim:
    """Changes the rows that `chosen` finds (it selects their primary key) and gives them back as changed.

    Made once and run often: what differs from run to run are bind parameters. Rows that somebody else is
    changing are passed over, so of several claimants each row has one.
    """

    def __init__(
        self,
        table: Table,
        chosen: Select[Any],
        values: Mapping[str, object],
        returning: Sequence[ColumnElement[Any]],
    ) -> None:
        self._made_of = table, chosen, values
        key = tuple_(*table.primary_key.columns)
        self._free = chosen.with_for_update(skip_locked=True)
        # As a CTE it is looked up once; as a mere subquery PostgreSQL may do so again, and take too many.
        changed = update(table).where(key.in_(select(self._free.cte("chosen")))).values(values)
        self._changed = changed.returning(*returning)
        locked = key.in_(bindparam("locked", expanding=True))
        self._changed_where_locked = update(table).where(locked).values(values)
        self._as_they_are = select(*returning).where(locked)

    def giving(self, returning: Sequence[ColumnElement[Any]]) -> "Claim":
        """The same that gives back other columns."""
        return Claim(*self._made_of, returning)

    def run(self, connection: Connection, **given: object) -> Sequence[Row[Any]]:
        if connection.dialect.name != "mariadb":
            return connection.execute(self._changed, given).all()
        # It has no UPDATE … RETURNING: lock, then change, in the transaction that is open.
        locked = [tuple(row) for row in connection.execute(self._free, given)]
        if not locked:
            return []
        connection.execute(self._changed_where_locked, {**given, "locked": locked})
        return connection.execute(self._as_they_are, {"locked": locked}).all()


class Numbering:
    """Gives the rows that `chosen` finds (it selects their ids, in their order) consecutive numbers in a
    column, from `first` on, and gives them back. Made once and run often, by one at a time: who runs it holds
    a lock that keeps others out.
    """

    def __init__(
        self, table: Table, chosen: Select[Any], column: str, returning: Sequence[ColumnElement[Any]]
    ) -> None:
        key, first = table.c.id, bindparam("first", type_=BigInteger())
        self._chosen = chosen
        found = chosen.subquery("found")
        # Numbered by the statement that chooses: what becomes visible a moment later has to wait.
        place = func.row_number().over(order_by=found.c.id)
        numbered = select(found.c.id, place.label("place")).cte("numbered")
        self._numbered = (
            update(table)
            .where(key == numbered.c.id)
            .values({column: first + numbered.c.place - 1})
            .returning(*returning)
        )
        self._table, self._column, self._returning = table, column, returning

    def run(self, connection: Connection, first: int, **given: object) -> Sequence[Row[Any]]:
        if connection.dialect.name != "mariadb":
            return connection.execute(self._numbered, {**given, "first": first}).all()
        # It has no UPDATE … RETURNING: look, then number what was seen.
        key, ids = self._table.c.id, connection.scalars(self._chosen, given).all()
        if not ids:
            return []
        places = {identity: first + place for place, identity in enumerate(ids)}
        changed = update(self._table).where(key.in_(ids)).values({self._column: case(places, value=key)})
        connection.execute(changed)
        return connection.execute(select(*self._returning).where(key.in_(ids))).all()


class Changing:
    """Changes all rows for which `where` holds, and gives these columns of them back. It waits for who else
    is changing them: each row is given to one. Made once and run often."""

    def __init__(
        self,
        table: Table,
        where: Sequence[ColumnElement[bool]],
        values: Mapping[str, object],
        returning: Sequence[ColumnElement[Any]],
    ) -> None:
        self._change = update(table).where(*where).values(values)
        self._changed = self._change.returning(*returning)
        self._locked = select(*returning).where(*where).with_for_update()

    def run(self, connection: Connection, **given: object) -> Sequence[Row[Any]]:
        if connection.dialect.name != "mariadb":
            return connection.execute(self._changed, given).all()
        # It has no UPDATE … RETURNING: lock, then change.
        rows = connection.execute(self._locked, given).all()
        if rows:
            connection.execute(self._change, given)
        return rows


def _columns(rows: Rows) -> tuple[str, ...]:
    names = rows[0].keys()
    for row in rows:
        if row.keys() != names:
            raise ValueError(f"rows of one insert name different columns: {list(names)} and {list(row)}")
    return tuple(names)


def _parts(rows: Rows, width: int) -> Iterator[Rows]:
    size = MOST_PARAMETERS // max(width, 1)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _size(value: object) -> int:
    if isinstance(value, dict | list):
        return len(json_text(value))
    return len(value) if isinstance(value, str | bytes) else 0


def _light_parts(rows: Rows, width: int) -> Iterator[Rows]:
    """Parts that make no statement of more than 16 MiB, even if every character has to be escaped: MariaDB
    takes no longer ones as it comes."""
    part: list[Mapping[str, object]] = []
    held = 0
    for row in rows:
        size = sum(map(_size, row.values()))
        if part and (held + size > MOST_CHARACTERS or len(part) * width > MOST_PARAMETERS - width):
            yield part
            part, held = [], 0
        part.append(row)
        held += size
    if part:
        yield part


# --- who lost a race ---------------------------------------------------------------------------


def violated_key(error: IntegrityError, table: Table) -> tuple[str, ...] | None:
    """The columns of the table's primary or unique key that a write would have broken.

    None: it broke something else.
    """
    for constraint in table.constraints:
        if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint) and _broke(error, constraint):
            return tuple(column.name for column in constraint.columns)
    return None


def _broke(error: IntegrityError, constraint: PrimaryKeyConstraint | UniqueConstraint) -> bool:
    said, table = str(error.orig), constraint.table.name
    primary = isinstance(constraint, PrimaryKeyConstraint)
    if said.startswith("UNIQUE constraint failed: "):
        columns = said.removeprefix("UNIQUE constraint failed: ").split(", ")
        return columns == [f"{table}.{column.name}" for column in constraint.columns]
    if duplicate := re.search(r"Duplicate entry .* for key '([^']*)'", said, re.DOTALL):
        # It says PRIMARY whichever table's it is: the statement tells.
        written = re.search(rf"(INTO|UPDATE) `?{table}`?\s", error.statement or "")
        return duplicate[1] == ("PRIMARY" if primary else constraint.name) and written is not None
    named: object = getattr(error.orig.__cause__, "constraint_name", None) if error.orig else None
    return named == (f"{table}_pkey" if primary else constraint.name)
