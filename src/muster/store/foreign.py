"""Databases that are not Muster's own: how they are connected to, and what keeps a statement in its bounds.

Nothing about them is changed: no journal mode, no file that was not there. What each database spells
differently about them is here, and the rest in `dialect.py`.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from muster.store.address import SQLITE
from muster.store.database import AsyncDatabase, Database, ThreadedDatabase
from muster.store.open import BUSY_SECONDS, server_engine
from muster.store.reaching import reach_only
from muster.store.sources import Opening

STEPS_BETWEEN_LOOKS = 10_000
TOO_LONG_STATE, TOO_LONG_CODES = "57014", {1969, 3024}
READ_ONLY_STATE, READ_ONLY_CODE = "25006", 1792
# SQLAlchemy wraps a driver's errors, but not those that come while a cursor of PostgreSQL is read.
TROUBLE = (SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError)
# What could reach another file, or undo what keeps a statement in its bounds.
FORBIDDEN = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_TRANSACTION}


def open_foreign(opening: Opening) -> Database:
    """Nothing is connected yet."""
    if opening.address.drivername != SQLITE:
        engine = server_engine(opening.address, opening.pool_size)
        if opening.hosts is not None:
            reach_only(engine.sync_engine, opening.hosts)
        return AsyncDatabase(engine)
    path = Path(str(opening.address.database))
    size = opening.pool_size
    return ThreadedDatabase(_sqlite(path, "BEGIN IMMEDIATE", 1), _sqlite(path, "BEGIN", size), size)


def _sqlite(path: Path, begin: str, size: int) -> Engine:
    def connect() -> sqlite3.Connection:
        # A file that is not there is not made.
        name = f"file:{quote(str(path))}?mode=rw"
        connection = sqlite3.connect(name, uri=True, check_same_thread=False, timeout=BUSY_SECONDS)
        connection.isolation_level = None  # else the driver begins transactions of its own
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    engine = create_engine(
        "sqlite+pysqlite://",
        creator=connect,
        poolclass=QueuePool,
        pool_size=size,
        max_overflow=0,
        hide_parameters=True,
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


@contextmanager
def bounded(connection: Connection, seconds: int, most: int | None) -> Iterator[None]:
    """In here a statement ends after so many seconds, and where `most` is given it reads only: so many rows
    and one, which tells that there are more. Called first in its transaction."""
    match connection.dialect.name:
        case "postgresql":
            reading = "" if most is None else "SET TRANSACTION READ ONLY"
            _run(connection, reading, f"SET LOCAL statement_timeout = {seconds * 1000:d}")
            yield
        case "mariadb":
            limit, only = ("DEFAULT", "OFF") if most is None else (str(most + 1), "ON")
            setting = f"max_statement_time = {seconds:d}, sql_select_limit = {limit}, tx_read_only = {only}"
            # A change of the schema ends the transaction first; the session's own setting refuses it.
            _run(connection, f"SET SESSION {setting}", "" if most is None else "START TRANSACTION READ ONLY")
            yield
        case _:
            with _bounded_sqlite(connection, seconds, reads_only=most is not None):
                yield


def _run(connection: Connection, *statements: str) -> None:
    for statement in statements:
        if statement:
            connection.execute(text(statement))


@contextmanager
def _bounded_sqlite(connection: Connection, seconds: int, reads_only: bool) -> Iterator[None]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.execute(f"PRAGMA query_only = {'ON' if reads_only else 'OFF'}")
    driver.set_authorizer(_authorise)
    driver.set_progress_handler(_until(time.monotonic() + seconds), STEPS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)
        driver.set_authorizer(None)
        driver.execute("PRAGMA query_only = OFF")


def _until(end: float) -> Callable[[], int]:
    return lambda: int(time.monotonic() > end)


def _authorise(action: int, *_: object) -> int:
    return sqlite3.SQLITE_DENY if action in FORBIDDEN else sqlite3.SQLITE_OK


def took_too_long(error: BaseException | None) -> bool:
    said = _said(error)
    return (
        getattr(said, "sqlstate", None) == TOO_LONG_STATE
        or _code(said) in TOO_LONG_CODES
        or getattr(said, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
    )


def tried_to_write(error: BaseException | None) -> bool:
    """Whether a statement that may only read meant to write."""
    said = _said(error)
    return (
        getattr(said, "sqlstate", None) == READ_ONLY_STATE
        or _code(said) == READ_ONLY_CODE
        or getattr(said, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY
    )


def left_in_the_middle(error: Exception) -> bool:
    """Whether the connection was lost while rows came over a cursor."""
    lost = isinstance(error, asyncpg.PostgresConnectionError | asyncpg.InterfaceError)
    return lost or isinstance(error, asyncpg.OperatorInterventionError)


def _said(error: BaseException | None) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error


def _code(error: BaseException | None) -> object:
    arguments = error.args if isinstance(error, Exception) else ()
    return arguments[0] if arguments else None
