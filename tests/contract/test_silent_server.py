"""A database server that takes what it is sent and answers nothing."""

import asyncio
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.open import open_database
from polling import PATIENCE
from services_for_tests import script, started

# What has to be answered is, on any machine; what is not answered is waited for.
ANSWER_SECONDS = 2.0


@pytest.fixture(
    params=[
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ],
    scope="module",
)
def own_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that nobody else uses, so that it can be stopped."""
    service = f"{request.param}@{secrets.token_hex(4)}"
    try:
        yield started(service)[f"TEST_{request.param.upper()}_URL"]
    finally:
        script("down", service).check_returncode()


@pytest.fixture
async def database(own_server: str) -> AsyncIterator[Database]:
    opened = open_database(own_server, answer_seconds=ANSWER_SECONDS)
    yield opened
    await opened.close()


@pytest.fixture
async def patient(own_server: str) -> AsyncIterator[Database]:
    """The same one, used by somebody who has all the time in the world."""
    opened = open_database(own_server)
    await opened.write(lambda c: c.execute(text("CREATE TABLE IF NOT EXISTS t (a INT)")))
    yield opened
    await opened.close()


def processes(connection: Connection) -> list[int]:
    """Those that would answer: the server's, and on PostgreSQL this connection's own."""
    if connection.dialect.name == "mariadb":
        file = connection.execute(text("SELECT @@pid_file")).scalar_one()
        folder = connection.execute(text("SELECT @@datadir")).scalar_one()
        return [int(Path(folder, file).read_text())]
    own: int = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    parent = Path(f"/proc/{own}/stat").read_text().rpartition(")")[2].split()[1]
    return [own, int(parent)]


def signal_all(numbers: list[int], number: signal.Signals) -> None:
    for process in numbers:
        os.kill(process, number)


def stop(numbers: list[int]) -> None:
    """Stop them, and see that they have: a thread may answer one more question before it hears of it."""
    signal_all(numbers, signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE
    while not all(map(_has_stopped, numbers)):
        assert time.monotonic() < deadline, f"{numbers} do not stop"
        time.sleep(0.01)


def _has_stopped(process: int) -> bool:
    threads = Path(f"/proc/{process}/task").glob("*/stat")
    return all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)


async def test_a_statement_without_an_answer_is_given_up(database: Database, patient: Database) -> None:
    stopped: list[int] = []

    def work(connection: Connection) -> None:
        stopped.extend(processes(connection))
        stop(stopped)
        connection.execute(text("INSERT INTO t VALUES (1)"))

    try:
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(Unavailable):
                await database.write(work)
    finally:
        signal_all(stopped, signal.SIGCONT)
    assert await patient.read(lambda c: c.execute(text("SELECT count(*) FROM t")).scalar_one()) == 0


async def test_a_commit_without_an_answer_is_unknown(database: Database, patient: Database) -> None:
    stopped: list[int] = []

    def work(connection: Connection) -> None:
        stopped.extend(processes(connection))
        connection.execute(text("INSERT INTO t VALUES (2)"))
        stop(stopped)

    try:
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(CommitUnknown):
                await database.write(work)
    finally:
        signal_all(stopped, signal.SIGCONT)
