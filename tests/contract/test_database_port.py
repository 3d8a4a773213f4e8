"""`write` and `read` keep their promise on every database: committed, or nothing, or said to be unknown."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, text, update
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from clocks import NOON, FakeClock
from contract.library_of_things import audit
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.migrations import migrate
from muster.store.open import inline_database, open_database, sqlite_database
from muster.store.tables import audit_log, metadata
from polling import PATIENCE

# Of deadlocks, each of which PostgreSQL takes a second to see.
ROUNDS = 3


def add(connection: Connection) -> None:
    add_audit(connection, audit(), NOON)


async def rows(database: Database) -> int:
    return await database.read(lambda c: c.execute(select(func.count()).select_from(audit_log)).scalar_one())


async def test_what_was_written_is_there_and_the_result_comes_back(database: Database) -> None:
    def work(connection: Connection) -> str:
        add(connection)
        return "result"

    assert await database.write(work) == "result"
    assert await rows(database) == 1


async def test_an_error_of_the_work_undoes_it_and_comes_through(database: Database) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        await database.write(work)
    assert await rows(database) == 0


async def test_an_error_of_a_statement_undoes_the_work_and_comes_through(database: Database) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        connection.execute(text("SELECT * FROM nothing_of_that_name"))

    with pytest.raises(SQLAlchemyError, match="nothing_of_that_name"):
        await database.write(work)
    assert await rows(database) == 0


async def test_the_error_of_a_statement_does_not_show_its_values(database: Database) -> None:
    wrong = text("INSERT INTO nothing_of_that_name (a) VALUES (:a)")
    with pytest.raises(SQLAlchemyError) as failure:
        await database.write(lambda c: c.execute(wrong, {"a": "hush"}))
    assert "hush" not in str(failure.value)


async def test_work_that_goes_on_after_a_failed_statement_is_refused_and_undone(database: Database) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        with pytest.raises(SQLAlchemyError):
            connection.execute(text("SELECT * FROM nothing_of_that_name"))

    with pytest.raises(RuntimeError, match="put a savepoint around it"):
        await database.write(work)
    assert await rows(database) == 0
    await database.write(add)
    assert await rows(database) == 1


async def test_work_goes_on_after_a_statement_that_failed_in_a_savepoint(database: Database) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        with pytest.raises(SQLAlchemyError):
            in_savepoint(connection)

    def in_savepoint(connection: Connection) -> None:
        with connection.begin_nested():
            add(connection)
            connection.execute(text("SELECT * FROM nothing_of_that_name"))

    await database.write(work)
    assert await rows(database) == 1


async def test_a_read_changes_nothing(database: Database) -> None:
    await database.read(add)
    assert await rows(database) == 0


async def test_many_write_and_read_at_once(database: Database) -> None:
    await asyncio.gather(*(database.write(add) for _ in range(40)), *(rows(database) for _ in range(40)))
    assert await rows(database) == 40


async def test_two_who_change_the_same_rows_in_opposite_order_both_succeed(database: Database) -> None:
    """A deadlock on PostgreSQL and MariaDB: one gives way, and its work runs again."""
    await database.write(lambda c: [add_audit(c, audit(entity_id=name), NOON) for name in ("a", "b")])
    begun = [0, 0]

    def change(which: int, *names: str) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            begun[which] += 1
            for name in names:
                place = audit_log.c.entity_id == name
                connection.execute(
                    update(audit_log).where(place).values(actor=audit_log.c.actor + str(which))
                )
                connection.execute(select(func.count()).select_from(audit_log))

        return work

    for _ in range(ROUNDS):
        await asyncio.gather(database.write(change(0, "a", "b")), database.write(change(1, "b", "a")))
    actors = await database.read(lambda c: c.execute(select(audit_log.c.actor)).scalars().all())
    assert sorted(len(actor) for actor in actors) == [len("editor") + 2 * ROUNDS] * 2
    assert min(begun) >= ROUNDS


async def test_whoever_is_cancelled_leaves_a_database_that_works(database: Database) -> None:
    writing = [asyncio.create_task(database.write(add)) for _ in range(30)]
    for delay, task in enumerate(writing):
        await asyncio.sleep(delay % 3 / 1000)
        task.cancel()
    results = await asyncio.gather(*writing, return_exceptions=True)
    assert {type(result) for result in results} <= {type(None), asyncio.CancelledError}
    await database.write(add)  # on SQLite it comes after whatever was left behind
    before = await rows(database)
    await database.write(add)
    assert await rows(database) == before + 1


async def test_whoever_is_cancelled_hears_of_it_however_close_the_answer_is(database: Database) -> None:
    async def look_for_ever() -> None:
        while True:
            await rows(database)

    for delay in range(40):
        looking = asyncio.create_task(look_for_ever())
        await asyncio.sleep(delay / 4000)
        looking.cancel()
        heard, _ = await asyncio.wait({looking}, timeout=PATIENCE)
        assert heard, "it goes on"


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    database = sqlite_database(tmp_path / "new" / "folder" / "muster.db")
    await migrate(database)
    await database.close()
    return tmp_path / "new" / "folder" / "muster.db"


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 30_000)],
)
async def test_sqlite_is_set_to_survive_a_power_cut(file: Path, pragma: str, value: object) -> None:
    database = sqlite_database(file)
    for ask in (database.read, database.write):
        assert await ask(lambda c: c.exec_driver_sql(f"PRAGMA {pragma}").scalar()) == value
    await database.close()


async def test_sqlite_is_read_while_somebody_writes(file: Path) -> None:
    database, written, may_end = sqlite_database(file), threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        add(connection)
        written.set()
        assert may_end.wait(PATIENCE)

    writing = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(written.wait, PATIENCE)
    assert await rows(database) == 0
    may_end.set()
    await writing
    assert await rows(database) == 1
    await database.close()


async def test_after_closing_the_log_is_folded_into_the_file(file: Path) -> None:
    database = sqlite_database(file)
    await database.write(add)
    await rows(database)
    await database.close()
    assert [path.name for path in file.parent.iterdir()] == ["muster.db"]


async def test_the_inline_database_runs_on_the_callers_thread_and_clock(tmp_path: Path) -> None:
    clock = FakeClock()
    for place in (":memory:", tmp_path / "inline.db"):
        database = inline_database(place, clock)
        await migrate(database)
        await database.write(add)
        assert await rows(database) == 1
        assert await database.read(lambda _: threading.current_thread()) is threading.main_thread()
        assert await database.read(now) == clock.now()
        await database.close()


async def test_a_call_of_the_inline_database_never_waits() -> None:
    database = inline_database()
    call = database.write(lambda c: metadata.create_all(c))
    with pytest.raises(StopIteration):
        call.send(None)
    await database.close()


async def test_an_inline_database_that_is_opened_again_has_what_was_committed(tmp_path: Path) -> None:
    first = inline_database(tmp_path / "muster.db")
    await migrate(first)
    await first.write(add)
    await first.close()
    second = inline_database(tmp_path / "muster.db")
    assert await rows(second) == 1
    await second.close()


@pytest.mark.postgres
async def test_postgresql_sessions_are_named_and_in_utc(postgres_url: str) -> None:
    database = open_database(postgres_url)
    for setting, value in (
        ("application_name", "muster"),
        ("timezone", "UTC"),
        ("transaction_isolation", "read committed"),
    ):
        shown = await database.read(lambda c, name=setting: c.execute(text(f"SHOW {name}")).scalar_one())
        assert shown == value
    await database.close()


@pytest.mark.mariadb
async def test_mariadb_sessions_are_strict_and_in_utc(mariadb_url: str) -> None:
    database = open_database(mariadb_url)
    asked = "@@time_zone, @@tx_isolation, @@character_set_connection, @@sql_mode LIKE '%STRICT_ALL_TABLES%'"
    found = await database.read(lambda c: c.execute(text(f"SELECT {asked}")).one())
    assert tuple(found) == ("+00:00", "READ-COMMITTED", "utf8mb4", 1)
    with pytest.raises(ProgrammingError):
        await database.read(lambda c: c.execute(text("SELECT * FROM nothing_of_that_name")))
    await database.close()
