"""Work of a single statement keeps the promise of `write`, with or without a transaction around it."""

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import NoResultFound, SQLAlchemyError

from clocks import NOON
from contract.library_of_things import audit
from contract.test_database_port import rows
from muster.store.audit import add_audit
from muster.store.database import CommitUnknown, Database, Unavailable, needs_transaction

HANG_UP = {
    "postgresql": "SELECT pg_terminate_backend(pg_backend_pid())",
    "mariadb": "KILL CONNECTION_ID()",
}


def add(connection: Connection) -> None:
    add_audit(connection, audit(), NOON)


async def test_a_single_statement_is_there_when_it_returns(database: Database) -> None:
    await database.write(add, single=True)
    assert await rows(database) == 1


async def test_a_single_statement_that_is_refused_says_why_and_the_next_one_works(database: Database) -> None:
    with pytest.raises(SQLAlchemyError, match="nothing_of_that_name"):
        await database.write(lambda c: c.execute(text("DELETE FROM nothing_of_that_name")), single=True)
    await database.write(add, single=True)
    assert await rows(database) == 1


async def test_transactions_work_as_ever_after_a_single_statement(database: Database) -> None:
    """The connection is the same: it must not keep on committing every statement by itself."""
    await database.write(add, single=True)

    def work(connection: Connection) -> None:
        add(connection)
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        await database.write(work)
    assert await rows(database) == 1


async def test_an_error_after_the_statement_leaves_nothing_or_says_that_it_does_not_know(
    database: Database,
) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        raise KeyError("on purpose")

    with pytest.raises((KeyError, CommitUnknown)) as told:
        await database.write(work, single=True)
    assert await rows(database) == (1 if told.type is CommitUnknown else 0)


async def test_a_second_statement_is_refused_where_the_first_is_committed_by_then(database: Database) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        add(connection)

    if database.dialect_name != "postgresql":
        await database.write(work, single=True)
        assert await rows(database) == 2
        return
    with pytest.raises(CommitUnknown, match="single statement"):
        await database.write(work, single=True)
    assert await rows(database) == 1


async def test_nobody_knows_the_outcome_of_a_statement_whose_answer_never_came(database: Database) -> None:
    if database.dialect_name not in HANG_UP:
        return  # no server, no connection to lose
    hang_up = text(HANG_UP[database.dialect_name])
    expected = CommitUnknown if database.dialect_name == "postgresql" else Unavailable
    with pytest.raises(expected):
        await database.write(lambda c: c.execute(hang_up), single=True)
    await database.write(add, single=True)
    assert await rows(database) == 1


async def test_work_that_finds_it_needs_more_than_one_statement_gets_a_transaction(
    database: Database,
) -> None:
    def work(connection: Connection) -> None:
        needs_transaction(connection)
        add(connection)
        add(connection)

    await database.write(work, single=True)
    assert await rows(database) == 2


async def test_a_single_look_finds_what_is_there(database: Database) -> None:
    await database.write(add)
    count = text("SELECT count(*) FROM audit_log")
    assert await database.read(lambda c: c.execute(count).scalar_one(), single=True) == 1


async def test_a_single_look_that_loses_its_connection_says_that_nobody_answered(database: Database) -> None:
    if database.dialect_name not in HANG_UP:
        return  # no server, no connection to lose
    hang_up = text(HANG_UP[database.dialect_name])
    with pytest.raises(Unavailable):
        await database.read(lambda c: c.execute(hang_up), single=True)


async def test_a_mistake_in_work_that_only_looks_is_no_outage(database: Database) -> None:
    with pytest.raises(NoResultFound):
        await database.read(lambda c: c.execute(text("SELECT 1 WHERE 1 = 2")).one(), single=True)


async def test_work_that_asks_for_a_transaction_too_late_is_refused(database: Database) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        needs_transaction(connection)

    if database.dialect_name != "postgresql":
        await database.write(work, single=True)
        assert await rows(database) == 1
        return
    with pytest.raises(CommitUnknown, match="has run it"):
        await database.write(work, single=True)
    assert await rows(database) == 1
