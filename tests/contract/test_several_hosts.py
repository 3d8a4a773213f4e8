"""PostgreSQL on several hosts, of which one takes writes."""

import asyncio
import socket
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, text

from databases import fresh_database
from muster.store import open as opening
from muster.store.database import Database, Unavailable
from muster.store.driver import fetch
from muster.store.open import open_database
from polling import PATIENCE
from ports import free_port

pytestmark = pytest.mark.postgres

READ_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    async with fresh_database("postgres", postgres_url) as url:
        database = open_database(url)
        await database.write(lambda connection: connection.execute(text("CREATE TABLE t (a INT)")))
        await database.close()
        yield url


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    found = open_database(url)
    yield found
    await found.close()


def add(connection: Connection) -> None:
    connection.execute(text("INSERT INTO t VALUES (1)"))


def before(url: str, *ports: int) -> str:
    """The address with hosts before its own."""
    own = f"127.0.0.1:{urlsplit(url).port}"
    return url.replace(own, ",".join([*(f"127.0.0.1:{port}" for port in ports), own]))


async def test_who_refuses_and_who_does_not_answer_at_all_leave_time_for_the_next(url, monkeypatch) -> None:
    monkeypatch.setattr(opening, "CONNECT_SECONDS", 3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database = open_database(before(url, free_port(), silent.getsockname()[1]))
        async with asyncio.timeout(PATIENCE):
            await database.write(add)
        await database.close()


async def test_a_host_that_only_reads_is_not_taken_and_it_is_said_of_each_why(url) -> None:
    name = urlsplit(url).path.removeprefix("/")
    only_reads = text(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    once = open_database(url)
    await once.write(lambda connection: connection.execute(only_reads))
    await once.close()
    gone = free_port()
    database = open_database(before(url, gone))
    with pytest.raises(
        Unavailable, match=rf"127\.0\.0\.1:{gone}: .*; 127\.0\.0\.1:\d+: None of the hosts match"
    ):
        await database.write(add)
    await database.close()


@pytest.mark.parametrize("alone", [False, True], ids=["in a transaction", "by itself"])
async def test_a_server_that_has_become_a_standby_is_left_for_the_one_that_takes_writes(
    database, alone
) -> None:
    def work(connection: Connection) -> None:
        fetch(connection, "INSERT INTO t VALUES (1)", ()) if alone else add(connection)

    # What stands before the servers has led this connection to one that takes no writes.
    await database.write(lambda connection: connection.execute(text(READ_ONLY)), single=True)
    with pytest.raises(Unavailable, match="read-only"):
        await database.write(work, single=True)
    await database.write(work, single=True)
