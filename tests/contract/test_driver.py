"""Statements that PostgreSQL's driver gets as they are keep the promise of `write` like all others."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from contract.test_database_port import rows
from contract.test_single_statements import HANG_UP, add
from muster.store.database import CommitUnknown, Database
from muster.store.driver import fetch, is_alone


def fetching(statement: str, *parameters: str) -> Callable[[Connection], Any]:
    return lambda connection: fetch(connection, statement, parameters)


@pytest.fixture
def postgres(database: Database) -> Database | None:
    """None: this database's driver is never asked directly."""
    return database if database.dialect_name == "postgresql" else None


async def test_rows_are_known_by_their_columns(postgres: Database | None) -> None:
    if postgres is None:
        return
    [row] = await postgres.write(fetching("SELECT $1::text AS name, 2 AS number", "a"), single=True)
    assert (row.name, row.number) == ("a", 2)


async def test_what_is_alone_is_told_from_what_is_in_a_transaction(database: Database) -> None:
    assert await database.write(is_alone, single=True) is (database.dialect_name == "postgresql")
    assert not await database.write(is_alone)


async def test_one_that_is_refused_says_why_and_the_next_one_works(postgres: Database | None) -> None:
    if postgres is None:
        return
    with pytest.raises(SQLAlchemyError, match="nothing_of_that_name"):
        await postgres.write(fetching("DELETE FROM nothing_of_that_name"), single=True)
    await postgres.write(add, single=True)
    assert await rows(postgres) == 1


async def test_nobody_knows_the_outcome_where_the_connection_is_lost(postgres: Database | None) -> None:
    if postgres is None:
        return
    with pytest.raises(CommitUnknown):
        await postgres.write(fetching(HANG_UP["postgresql"]), single=True)
    await postgres.write(add, single=True)
    assert await rows(postgres) == 1


async def test_a_second_one_is_refused(postgres: Database | None) -> None:
    if postgres is None:
        return

    def work(connection: Connection) -> None:
        fetch(connection, "SELECT 1", ())
        fetch(connection, "SELECT 1", ())

    with pytest.raises(CommitUnknown, match="single statement"):
        await postgres.write(work, single=True)


async def test_one_that_is_given_up_leaves_no_answer_for_the_next(postgres: Database | None) -> None:
    if postgres is None:
        return
    asking = asyncio.create_task(postgres.write(fetching("SELECT 1 AS number, pg_sleep(60)"), single=True))
    await asyncio.sleep(0.2)
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    assert asking.cancelled()
    [row] = await postgres.write(fetching("SELECT 2 AS number"), single=True)
    assert row.number == 2
