"""A database that is away, goes away or is too busy: told apart from a statement that is wrong."""

import asyncio
import contextlib
import resource
import sqlite3
import traceback
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import Connection, event, func, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.util import await_only

from clocks import NOON
from contract.library_of_things import audit
from databases import EVERY_KIND
from muster.store import database as port
from muster.store import open as opening
from muster.store.address import parse_address
from muster.store.audit import add_audit
from muster.store.database import (
    AsyncDatabase,
    CommitUnknown,
    Database,
    InlineDatabase,
    LockHeld,
    Unavailable,
)
from muster.store.migrations import migrate
from muster.store.open import open_database, server_engine, sqlite_database
from muster.store.tables import audit_log
from polling import until

Kill = Callable[[int], None]
OWN_ID = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}
END = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL CONNECTION {}"}
IS_THERE = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE pid = {}",
    "mariadb": "SELECT count(*) FROM information_schema.processlist WHERE id = {}",
}
SLEEP = {"postgresql": "SELECT pg_sleep(300)", "mariadb": "SELECT sleep(300)"}
SERVERS = EVERY_KIND[1:]


def add(connection: Connection) -> None:
    add_audit(connection, audit(), NOON)


async def rows(database: Database) -> int:
    return await database.read(lambda c: c.execute(select(func.count()).select_from(audit_log)).scalar_one())


def own_id(connection: Connection) -> int:
    return connection.execute(text(OWN_ID[connection.dialect.name])).scalar_one()


@pytest.fixture
async def kill(database: Database, database_url: str) -> AsyncIterator[Kill]:
    """Ends a connection from another one, as an administrator or a failing server would."""
    other = open_database(database_url, pool_size=2)

    async def end(connection_id: int) -> None:
        await other.write(lambda c: c.execute(text(END[c.dialect.name].format(connection_id))))
        await until(lambda: is_gone(connection_id))

    async def is_gone(connection_id: int) -> bool:
        return not await other.read(
            lambda c: c.execute(text(IS_THERE[c.dialect.name].format(connection_id))).scalar_one()
        )

    yield end
    await other.close()


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_a_connection_lost_between_statements_means_that_nothing_was_written(database, kill) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        await_only(kill(own_id(connection)))
        add(connection)

    with pytest.raises(Unavailable):
        await database.write(work)
    assert await rows(database) == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_a_connection_lost_during_a_statement_means_that_nothing_was_written(database, kill) -> None:
    ending = []

    def work(connection: Connection) -> None:
        add(connection)
        loop = asyncio.get_running_loop()
        ending.append(loop.create_task(kill(own_id(connection))))
        connection.execute(text(SLEEP[connection.dialect.name]))

    with pytest.raises(Unavailable):
        await database.write(work)
    await asyncio.gather(*ending)
    assert await rows(database) == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_a_connection_lost_before_the_answer_to_a_commit_leaves_it_unknown(database, kill) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        await_only(kill(own_id(connection)))

    with pytest.raises(CommitUnknown):
        await database.write(work)
    assert await rows(database) == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_a_read_whose_connection_is_lost_at_its_end_has_its_result(database, kill) -> None:
    def work(connection: Connection) -> int:
        number = own_id(connection)
        await_only(kill(number))
        return number

    assert await database.read(work) > 0
    assert await rows(database) == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_work_that_hides_the_loss_of_its_connection_is_not_taken_for_done(database, kill) -> None:
    def work(connection: Connection) -> None:
        await_only(kill(own_id(connection)))
        with pytest.raises(Exception, match=r"gone away|closed|Lost"):
            add(connection)

    with pytest.raises((Unavailable, CommitUnknown)):
        await database.write(work)
    assert await rows(database) == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_a_connection_that_died_while_nobody_used_it_is_replaced(database, kill, monkeypatch) -> None:
    monkeypatch.setattr(opening, "IDLE_SECONDS", 0)
    dead = await database.read(own_id)
    await kill(dead)
    assert await database.read(own_id) != dead


@pytest.mark.parametrize("database_url", SERVERS[:1], indirect=True)
async def test_a_server_that_leaves_while_a_connection_is_set_up_is_away(database_url, monkeypatch) -> None:
    async def left(*_: object, **__: object) -> None:
        raise asyncpg.InterfaceError("connection is closed")

    monkeypatch.setattr(asyncpg.Connection, "set_type_codec", left)
    database = open_database(database_url)
    for asked in (database.read, database.write):
        with pytest.raises(Unavailable, match="connection is closed"):
            await asked(own_id)
    await database.close()


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_after_one_lost_connection_all_old_ones_are_replaced(database, kill) -> None:
    dead = await asyncio.gather(*(database.read(own_id) for _ in range(3)))
    for number in set(dead):
        await kill(number)
    failures = 0
    for _ in range(5):
        try:
            await database.read(own_id)
        except Unavailable:
            failures += 1
    assert failures <= 1


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_a_failed_rollback_does_not_hide_why_it_was_needed(database, kill) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        await_only(kill(own_id(connection)))
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose") as failure:
        await database.write(work)
    assert "rolling back failed too" in failure.value.__notes__[0]
    assert await rows(database) == 0


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_when_every_connection_is_in_use_for_too_long_it_says_so(database_url, monkeypatch) -> None:
    monkeypatch.setattr(opening, "POOL_SECONDS", 0.1)
    database = AsyncDatabase(server_engine(parse_address(database_url), pool_size=1))
    held, let_go = asyncio.Event(), asyncio.Event()

    def hold(connection: Connection) -> None:
        held.set()
        await_only(let_go.wait())

    holding = asyncio.create_task(database.read(hold))
    await held.wait()
    with pytest.raises(Unavailable, match="every connection is in use"):
        await database.read(own_id)
    let_go.set()
    await holding
    await database.close()


@pytest.mark.parametrize("url", ["postgresql://u:hush@127.0.0.1:1/x", "mariadb://u:hush@127.0.0.1:1/x"])
async def test_a_server_that_does_not_listen_is_unavailable(url: str) -> None:
    database = open_database(url)
    for ask in (database.read, database.write):
        with pytest.raises(Unavailable) as failure:
            await ask(own_id)
        assert "hush" not in "".join(traceback.format_exception(failure.value))
    await database.close()


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_a_database_that_is_not_there_is_unavailable_and_named(database_url: str) -> None:
    database = open_database(database_url.rpartition("/")[0] + "/no_such_name")
    with pytest.raises(Unavailable, match="no_such_name"):
        await database.read(own_id)
    await database.close()


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
async def test_who_gives_way_every_time_is_told_that_nothing_was_written(database, monkeypatch) -> None:
    monkeypatch.setattr(port, "MOST_ATTEMPTS", 3)
    runs = []

    def work(connection: Connection) -> None:
        runs.append(1)
        add(connection)
        raise_in = {
            "postgresql": "DO $$ BEGIN RAISE EXCEPTION 'give way' USING ERRCODE = '40001'; END $$",
            "mariadb": "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'give way'",
        }
        connection.exec_driver_sql(raise_in[connection.dialect.name])

    with pytest.raises(Unavailable, match="give way"):
        await database.write(work)
    assert len(runs) == 3
    assert await rows(database) == 0


@pytest.mark.mariadb
@pytest.mark.parametrize("database_url", SERVERS[1:], indirect=True)
async def test_a_lock_that_was_waited_for_in_vain_is_waited_for_once_more_only(database) -> None:
    runs = []

    def work(connection: Connection) -> None:
        runs.append(1)
        connection.exec_driver_sql("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'held'")

    with pytest.raises(LockHeld, match="held"):
        await database.write(work)
    assert len(runs) == 2


async def test_sqlite_held_by_another_process_for_too_long_is_unavailable(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(opening, "SQLITE_PRAGMAS", ("busy_timeout = 50", "journal_mode = WAL"))
    database = sqlite_database(tmp_path / "muster.db")
    await migrate(database)
    other = sqlite3.connect(tmp_path / "muster.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await database.write(add)
    assert await rows(database) == 0
    other.execute("ROLLBACK")
    other.close()
    await database.write(add)
    await database.close()


async def test_sqlite_without_room_is_unavailable_and_writes_nothing(tmp_path: Path) -> None:
    database = sqlite_database(tmp_path / "muster.db")
    await migrate(database)
    await database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1"))

    def too_much(connection: Connection) -> None:
        for _ in range(2_000):
            add(connection)

    with pytest.raises(Unavailable, match="full"):
        await database.write(too_much)
    assert await rows(database) == 0
    await database.close()


async def test_a_commit_that_the_disk_cuts_short_is_unavailable_and_writes_nothing(tmp_path: Path) -> None:
    database = sqlite_database(tmp_path / "muster.db")
    await migrate(database)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, limits[1]))  # as a disk that has no more room
    try:
        with pytest.raises(Unavailable):
            await database.write(add)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert await rows(database) == 0
    await database.write(add)
    await database.close()
    assert rows_found_later(tmp_path / "muster.db") == 1


def rows_found_later(path: Path) -> int:
    """What whoever opens the file next finds."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM audit_log").fetchone()
        return int(count)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (sqlite3.SQLITE_FULL, Unavailable),
        (sqlite3.SQLITE_IOERR_WRITE, Unavailable),
        (sqlite3.SQLITE_IOERR_FSYNC, CommitUnknown),
        (sqlite3.SQLITE_IOERR_SHMSIZE, CommitUnknown),
    ],
)
async def test_only_a_commit_that_was_cut_short_has_certainly_written_nothing(
    result: int, expected: type[Exception]
) -> None:
    failure = sqlite3.OperationalError("disk trouble")
    failure.sqlite_errorcode = result
    engine = opening.sqlite_engine(":memory:", "BEGIN IMMEDIATE", single=True)

    def fail(connection: Connection) -> None:
        raise OperationalError("COMMIT", None, failure)

    event.listen(engine, "commit", fail)
    database = InlineDatabase(engine)
    with pytest.raises(expected, match="disk trouble"):
        await database.write(lambda c: c.exec_driver_sql("SELECT 1"))
    await database.close()


async def test_a_sqlite_file_in_a_place_that_is_no_folder_is_unavailable(tmp_path: Path) -> None:
    database = sqlite_database(tmp_path / "data" / "muster.db")
    (tmp_path / "data").rmdir()
    with pytest.raises(Unavailable, match="unable to open"):
        await database.write(lambda c: c.exec_driver_sql("SELECT 1"))
    await database.close()
