"""Running registered SQL: a pool for each data source, values bound, trouble told as failures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Date,
    DateTime,
    Double,
    Numeric,
    String,
    TextClause,
    bindparam,
    text,
)
from sqlalchemy.types import TypeEngine

from muster.engine.state import Failure
from muster.kit.clock import Clock
from muster.model.json import Json
from muster.nodes.data_ports import (
    Bound,
    HostRefused,
    HostUnknown,
    Kind,
    NotConfigured,
    SqlValue,
    Statement,
    Target,
)
from muster.store import vault
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.failures import reason
from muster.store.foreign import (
    TROUBLE,
    bounded,
    left_in_the_middle,
    open_foreign,
    took_too_long,
    tried_to_write,
)
from muster.store.row_values import Unreadable, rows_as_json
from muster.store.sources import Opening, SourceRepository

# How long a change of a data source may go unnoticed.
FRESH_SECONDS = 2.0
LARGEST_WHOLE = 2**63 - 1
LONGEST_TOLD = 300
# What one item's statement may run into, and its neighbour's not.
OF_ONE_ITEM = {"DatabaseRefused", "StatementTimeout"}
UNREACHED = (HostRefused, HostUnknown)
SHORTEST_HIDDEN = 3

# One row of plain values: no question, no "or else".
INSERTS_ONE = re.compile(
    r"\s*INSERT\s+INTO\s+[\w.\"`]+\s*(?:\([^()]*\)\s*)?VALUES\s*\([^()]*\)\s*", re.IGNORECASE
)

TYPES: dict[Kind, TypeEngine[Any]] = {
    Kind.TEXT: String(),
    Kind.WHOLE: BigInteger(),
    Kind.NUMBER: Double(),
    Kind.FLAG: Boolean(),
    Kind.TIME: DateTime(timezone=True),
    Kind.DATE: Date(),
}


@dataclass(slots=True)
class Pool:
    mark: tuple[object, ...]
    database: Database
    looked_at: datetime


class SqlRunner:
    """`nodes.data_ports.Databases`. A pool is opened when it is first needed, and anew when its source has
    changed."""

    def __init__(self, sources: SourceRepository, clock: Clock) -> None:
        self._sources, self._clock = sources, clock
        self._pools: dict[tuple[str, str], Pool] = {}

    async def read(self, target: Target, statement: Statement, most: int) -> list[Json] | Failure:
        database = await self._database(target)
        if isinstance(database, Failure):
            return database
        try:
            rows = await database.read(lambda connection: _read(connection, statement, target.seconds, most))
        except (Unavailable, CommitUnknown, Unreadable, *UNREACHED, *TROUBLE) as error:
            return _failure(error, target, (statement,))
        if len(rows) > most:
            told = f"it finds more than {most} rows, which is the most it may: narrow it, or raise `maxRows`"
            return Failure("TooManyRows", told)
        return rows

    async def write(self, target: Target, statements: Sequence[Statement]) -> int | Failure:
        database = await self._database(target)
        if isinstance(database, Failure):
            return database
        try:
            return await database.write(lambda connection: _write(connection, statements, target.seconds))
        except (Unavailable, CommitUnknown, *UNREACHED, *TROUBLE) as error:
            return _failure(error, target, statements)

    async def write_each(
        self, target: Target, batch: Sequence[Sequence[Statement]]
    ) -> Sequence[int | Failure]:
        if not batch:
            return []
        database = await self._database(target)
        if isinstance(database, Failure):
            return [database] * len(batch)
        return await self._written(database, target, batch)

    async def _written(
        self, database: Database, target: Target, batch: Sequence[Sequence[Statement]]
    ) -> list[int | Failure]:
        """All in one transaction; if one cannot be, each half in its own, and so on down to that one."""
        try:
            return list(await database.write(lambda c: _write_each(c, batch, target.seconds)))
        except (Unavailable, CommitUnknown, *UNREACHED, *TROUBLE) as error:
            failure = _failure(error, target, [statement for each in batch for statement in each])
        if len(batch) == 1 or failure.type not in OF_ONE_ITEM:
            return [failure] * len(batch)
        middle = len(batch) // 2
        first = await self._written(database, target, batch[:middle])
        return first + await self._written(database, target, batch[middle:])

    async def close(self) -> None:
        pools = list(self._pools.values())
        self._pools.clear()
        for pool in pools:
            await pool.database.close()

    async def _database(self, target: Target) -> Database | Failure:
        name = (target.institute_id, target.source)
        pool, now = self._pools.get(name), self._clock.now()
        if pool is not None and (now - pool.looked_at).total_seconds() < FRESH_SECONDS:
            return pool.database
        try:
            opening = await self._sources.opening(*name)
        except (vault.Unreadable, NotConfigured) as error:
            return Failure("UnreadablePassword", f"the password of `{target.source}` cannot be read: {error}")
        if opening is None:
            return Failure("UnknownDataSource", f"there is no data source `{target.source}`")
        return await self._opened(name, opening, now)

    async def _opened(self, name: tuple[str, str], opening: Opening, now: datetime) -> Database:
        # Looked up again: somebody else may have opened it while we asked.
        present = self._pools.get(name)
        if present is not None and present.mark == opening.mark:
            present.looked_at = now
            return present.database
        opened = Pool(opening.mark, open_foreign(opening), now)
        self._pools[name] = opened
        if present is not None:
            await present.database.close()
        return opened.database


def _read(connection: Connection, statement: Statement, seconds: int, most: int) -> list[Json]:
    with bounded(connection, seconds, most):
        # On PostgreSQL by a cursor, so that only the rows that are looked at come over.
        options = {"stream_results": connection.dialect.name == "postgresql"}
        result = connection.execute(*_bound(statement, connection), execution_options=options)
        if not result.returns_rows:
            return []
        columns = list(result.keys())
        return rows_as_json(columns, [tuple(row) for row in result.fetchmany(most + 1)])


def _write(connection: Connection, statements: Sequence[Statement], seconds: int) -> int:
    with bounded(connection, seconds, None):
        return sum(_changed(connection, statement) for statement in statements)


def _write_each(connection: Connection, batch: Sequence[Sequence[Statement]], seconds: int) -> Sequence[int]:
    with bounded(connection, seconds, None):
        if is_one_insert(batch):
            # Each inserts one row, so nothing is lost by the drivers' not saying how many each has changed.
            clause, _ = _bound(batch[0][0], connection)
            connection.execute(clause, [_bound(each[0], connection)[1] for each in batch])
            return [1] * len(batch)
        return [sum(_changed(connection, statement) for statement in each) for each in batch]


def is_one_insert(batch: Sequence[Sequence[Statement]]) -> bool:
    """Whether all of them are one and the same statement that inserts one row, with values of the same kinds:
    then a driver takes them all at once."""
    first = batch[0][0]
    if len(batch[0]) > 1 or INSERTS_ONE.fullmatch(first.sql) is None:
        return False
    kinds = {name: bound.kind for name, bound in first.values.items()}
    return Kind.LIST not in kinds.values() and all(
        {name: bound.kind for name, bound in each[0].values.items()} == kinds and _fits(each[0])
        for each in batch
    )


def _fits(statement: Statement) -> bool:
    """Whether every whole number has the size that whole numbers have."""
    values = (bound.value for bound in statement.values.values())
    return all(not isinstance(value, int) or abs(value) <= LARGEST_WHOLE for value in values)


def _changed(connection: Connection, statement: Statement) -> int:
    # Where a driver does not know (a change of the schema, say), it answers -1.
    return max(connection.execute(*_bound(statement, connection)).rowcount, 0)


def _bound(statement: Statement, connection: Connection) -> tuple[TextClause, dict[str, object]]:
    dialect = connection.dialect.name
    parameters = [
        bindparam(name, type_=_type(bound, dialect), expanding=bound.kind is Kind.LIST)
        for name, bound in statement.values.items()
    ]
    values = {name: _value(bound.value, dialect) for name, bound in statement.values.items()}
    return text(statement.sql).bindparams(*parameters), values


def _type(bound: Bound, dialect: str) -> TypeEngine[Any]:
    kind = bound.of if bound.kind is Kind.LIST else bound.kind
    if kind is Kind.WHOLE and isinstance(bound.value, int) and abs(bound.value) > LARGEST_WHOLE:
        return Numeric()
    if kind in (Kind.TIME, Kind.DATE) and dialect == "sqlite":
        return String()
    return TYPES[kind]


def _value(value: SqlValue, dialect: str) -> object:
    """Times as each database compares them: SQLite's are texts, MariaDB's have no zone."""
    match value:
        case list():
            return [_value(each, dialect) for each in value]
        case datetime() if dialect == "mariadb":
            return value.astimezone(UTC).replace(tzinfo=None)
        case datetime() | date() if dialect == "sqlite":
            return value.isoformat()
        case _:
            return value


def _failure(error: Exception, target: Target, statements: Sequence[Statement]) -> Failure:
    """What became of it. What the driver said goes on without the values, which may be private."""
    if isinstance(error, HostRefused):
        return Failure("EgressRefused", f"`{target.source}` may not be reached: {error}")
    if isinstance(error, HostUnknown):
        return Failure("SourceUnavailable", f"`{target.source}` cannot be used: {error}", retryable=True)
    cause = error.__cause__ if isinstance(error, Unavailable) else error
    told = _told(cause if isinstance(cause, Exception) else error, statements)
    if took_too_long(cause):
        return Failure("StatementTimeout", f"it took longer than {target.seconds} s", retryable=True)
    if tried_to_write(cause):
        return Failure("ReadOnly", "a query may not write")
    if isinstance(error, Unavailable) or left_in_the_middle(error):
        return Failure("SourceUnavailable", f"`{target.source}` cannot be used: {told}", retryable=True)
    if isinstance(error, CommitUnknown):
        left = f"`{target.source}` left during the commit: it may have been written or not"
        return Failure("OutcomeUnknown", left, retryable=True)
    return Failure("DatabaseRefused", f"`{target.source}` refused it: {told}")


def _told(error: Exception, statements: Sequence[Statement]) -> str:
    """The first line of what was said, without a driver's class before it or a value in it."""
    first = reason(error).partition("\n")[0]
    line = first.partition(">: ")[2] if first.startswith("<class ") else first
    for statement in statements:
        for bound in statement.values.values():
            if isinstance(bound.value, str) and len(bound.value) >= SHORTEST_HIDDEN:
                line = line.replace(bound.value, "…")
    return line[:LONGEST_TOLD]
