"""Opening a database: how each of them is connected to, in one place."""

import asyncio
import math
import sqlite3
import time
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.util import await_only
from sqlalchemy.util.concurrency import greenlet_spawn

from muster.kit.clock import Clock, SystemClock
from muster.store.address import MARIADB, POSTGRESQL, BadAddress, masked, parse_address
from muster.store.database import AsyncDatabase, Database, InlineDatabase, ThreadedDatabase
from muster.store.dialect import SQLITE_NOW
from muster.store.failures import reason
from muster.store.pooled import pooled_options
from muster.store.types import time_text

FILE_NAME = "muster.db"
APPLICATION = "muster"
CONNECT_SECONDS = 10
ANSWER_SECONDS = 60.0
POOL_SECONDS = 30
BUSY_SECONDS = 30
IDLE_SECONDS = 5
PING_SECONDS = 5.0
LEFT_AT = "muster.left_at"

SQLITE_PRAGMAS = (
    f"busy_timeout = {BUSY_SECONDS * 1000}",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
)
POSTGRESQL_SETTINGS = {
    "timezone": "UTC",
    "default_transaction_isolation": "read committed",
    # Every statement finds its rows by a key. Left to itself the planner reads whole tables while they are
    # empty, and a prepared statement's plan stays with that when they have grown.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    # It would read all that is due, and sort it, where the first few along the index are wanted.
    "enable_bitmapscan": "off",
    # It would take the price of a table that has to be read whole for a reason to compile.
    "jit": "off",
}
MARIADB_SETTINGS = (
    "SET SESSION time_zone = '+00:00', tx_isolation = 'READ-COMMITTED', innodb_lock_wait_timeout = 30,"
    " sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION'"
)


def open_database(
    url: str | None,
    *,
    user: str | None = None,
    password: str | None = None,
    data_dir: Path | None = None,
    pool_size: int = 10,
    answer_seconds: float | None = ANSWER_SECONDS,
    pooled: bool = False,
    schema: str | None = None,
) -> Database:
    """The database at `url`; None is SQLite in `data_dir`. Nothing is connected yet. Raises `BadAddress`.

    A server that takes longer than `answer_seconds` to answer a statement counts as gone; None is for what
    may take any time, such as changing large tables. `pooled`: between here and PostgreSQL connections are
    shared, and only a transaction has one for itself. `schema`: where PostgreSQL looks for tables, if not
    where it does by itself.
    """
    if url is None:
        return sqlite_database((data_dir or Path("data")) / FILE_NAME)
    address = parse_address(url, user, password)
    if address.drivername in (POSTGRESQL, MARIADB):
        engine = server_engine(address, pool_size, answer_seconds, pooled, schema)
        # The rest of the pool is for transactions, which are not kept waiting by what is merely at hand.
        return AsyncDatabase(engine, kept=pool_size // 4)
    if address.database in (None, "", ":memory:"):
        raise BadAddress(f"{masked(url)!r} names no file: SQLite needs one, as in sqlite:///data/muster.db")
    return sqlite_database(Path(str(address.database)))


def sqlite_database(path: Path, clock: Clock | None = None) -> ThreadedDatabase:
    """The SQLite database in a file. Its folder is made if it isn't there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return ThreadedDatabase(
        writing=sqlite_engine(path, "BEGIN IMMEDIATE", clock), reading=sqlite_engine(path, "BEGIN", clock)
    )


def inline_database(path: Path | str = ":memory:", clock: Clock | None = None) -> InlineDatabase:
    """SQLite in memory or in a file, on the caller's own thread and by the caller's clock."""
    return InlineDatabase(sqlite_engine(path, "BEGIN IMMEDIATE", clock, single=True))


def _set(connection: sqlite3.Connection, pragma: str) -> None:
    """Wait here while another connection turns the write-ahead log on for the first time: SQLite does not."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(f"PRAGMA {pragma}")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


def sqlite_engine(path: Path | str, begin: str, clock: Clock | None = None, single: bool = False) -> Engine:
    address = URL.create("sqlite+pysqlite", database=str(path))
    engine = create_engine(address, poolclass=StaticPool if single else None, hide_parameters=True)
    timepiece = clock or SystemClock()

    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # else the driver begins transactions of its own
        for pragma in SQLITE_PRAGMAS:
            _set(connection, pragma)
        connection.create_function(SQLITE_NOW, 0, lambda: time_text(timepiece.now()))
        # SQLite's own knows the letters of ASCII only.
        connection.create_function("lower", 1, _lower, deterministic=True)

    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", start)
    return engine


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def server_engine(
    address: URL,
    pool_size: int = 10,
    answer_seconds: float | None = None,
    pooled: bool = False,
    schema: str | None = None,
    name: str = APPLICATION,
) -> AsyncEngine:
    """PostgreSQL or MariaDB, with every session set the same way whatever the server's defaults are; where
    sessions are shared by a pooler, as far as it allows. `name`: what PostgreSQL shows them by."""
    options: dict[str, object] = (
        {
            "server_settings": {
                **POSTGRESQL_SETTINGS,
                "application_name": name,
                **({"search_path": schema} if schema else {}),
            },
            "timeout": CONNECT_SECONDS,
            "command_timeout": answer_seconds,
            **(pooled_options() if pooled else {}),
            **(_several_hosts() if "host" in address.query else {}),
        }
        if address.drivername == POSTGRESQL
        else {
            "init_command": MARIADB_SETTINGS,
            "charset": "utf8mb4",
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": answer_seconds,
        }
    )
    engine = create_async_engine(
        address,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        connect_args=options,
        hide_parameters=True,  # an error's text ends up in logs
    )
    _ping_after_idling(engine.sync_engine)
    return engine


def _several_hosts() -> dict[str, object]:
    from muster.store.hosts import Hosts  # here, since it loads the driver

    return {"async_creator_fn": Hosts(CONNECT_SECONDS).connect}


def _ping_after_idling(engine: Engine) -> None:
    """Try a connection that nobody used for a while before it is used: the server, or something between, may
    have closed it, and then the others as well. (`pool_pre_ping` does so every time, which on PostgreSQL
    costs three round trips.)"""

    def left(_connection: object, record: ConnectionPoolEntry) -> None:
        record.info[LEFT_AT] = time.monotonic()

    def taken(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: object) -> None:
        if time.monotonic() - record.info.get(LEFT_AT, math.inf) < IDLE_SECONDS:
            return
        try:
            await_only(asyncio.wait_for(greenlet_spawn(engine.dialect.do_ping, connection), PING_SECONDS))
        except (engine.dialect.loaded_dbapi.Error, TimeoutError) as error:
            raise InvalidatePoolError(reason(error)) from error

    event.listen(engine, "checkin", left)
    event.listen(engine, "checkout", taken)
