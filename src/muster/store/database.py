"""One way to talk to every database: hand over a function of a connection, get its result once committed.

The function is plain and synchronous, so the same statements run on PostgreSQL and MariaDB (asynchronous
drivers, bridged by SQLAlchemy), on SQLite (a thread: one hop per transaction, not per statement) and inline
in the simulation (nothing runs beside it, so a run repeats exactly).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")
Work = Callable[[Connection], T]


class Unavailable(Exception):
    """The database could not be reached, or left in the middle: nothing was written."""


class CommitUnknown(Exception):
    """The commit was sent and its answer never came: the writes may be there or not."""


class Database(Protocol):
    @property
    def dialect_name(self) -> str: ...

    async def write(self, work: Work[T]) -> T:
        """Run `work` in one transaction. When this returns, it is committed; when it raises anything but
        `CommitUnknown`, nothing was written."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Run `work` in a transaction that changes nothing."""
        ...

    async def close(self) -> None: ...


def in_transaction(connection: Connection, work: Work[T]) -> T:
    """What every adapter does around `work`, whichever way it reached the connection."""
    try:
        transaction = connection.begin()
        result = work(connection)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Unavailable(str(error.orig)) from error
        connection.rollback()
        raise
    except BaseException:
        connection.rollback()
        raise
    try:
        transaction.commit()
    except DBAPIError as error:
        raise CommitUnknown(str(error.orig)) from error
    return result


class InlineDatabase:
    """SQLite on the event loop's own thread, for the simulation: every call is finished when it returns."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.dialect_name = engine.dialect.name

    async def write(self, work: Work[T]) -> T:
        with self._engine.connect() as connection:
            return in_transaction(connection, work)

    async def read(self, work: Work[T]) -> T:
        return await self.write(work)

    async def close(self) -> None:
        self._engine.dispose()


class ThreadedDatabase:
    """SQLite: one writing thread (the database allows one writer anyway) and a few that read beside it."""

    def __init__(self, writing: Engine, reading: Engine, readers: int = 4) -> None:
        self._writing, self._reading = writing, reading
        self._writer = ThreadPoolExecutor(1, "sqlite-writer")
        self._readers = ThreadPoolExecutor(readers, "sqlite-reader")
        self.dialect_name = writing.dialect.name

    async def write(self, work: Work[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writer, _connected, self._writing, work)

    async def read(self, work: Work[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._readers, _connected, self._reading, work
        )

    async def close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        self._writing.dispose()
        self._reading.dispose()


def _connected(engine: Engine, work: Work[T]) -> T:
    with engine.connect() as connection:
        return in_transaction(connection, work)


class AsyncDatabase:
    """PostgreSQL over asyncpg, MariaDB over asyncmy."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.dialect_name = engine.dialect.name

    async def write(self, work: Work[T]) -> T:
        try:
            async with self._engine.connect() as connection:
                return await connection.run_sync(in_transaction, work)
        except OSError as error:
            raise Unavailable(str(error)) from error

    async def read(self, work: Work[T]) -> T:
        return await self.write(work)

    async def close(self) -> None:
        await self._engine.dispose()
