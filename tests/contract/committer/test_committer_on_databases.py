"""The group committer on real databases: their errors, their lost connections, and a killed process."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, select, text

from databases import EVERY_KIND, Kind, fresh_database, server_of
from muster.store.committer import GroupCommitter, Locks
from muster.store.database import Database, Unavailable
from muster.store.dialect import insert_rows
from muster.store.open import open_database

STEPS = Table(
    "committed_step",
    MetaData(),
    Column("place", Integer, primary_key=True, autoincrement=True),
    Column("execution", String(40), nullable=False),
    Column("number", Integer, nullable=False),
)
SERVERS = EVERY_KIND[1:]  # SQLite takes any text, and has no connection to lose
WRITER = Path(__file__).with_name("writes_until_killed.py")


@dataclass(frozen=True)
class Step:
    execution: str
    number: int | None


@dataclass(frozen=True, eq=False)
class Journal:
    key_may_repeat: bool = True
    is_single_statement: bool = True
    locks: Locks = Locks.NOTHING

    def write(self, connection: Connection, items: Sequence[Step]) -> Sequence[int | None]:
        rows = [{"execution": step.execution, "number": step.number} for step in items]
        insert_rows(connection, STEPS, rows)
        return [step.number for step in items]


@dataclass(frozen=True, eq=False)
class Hangup:
    """Makes the server throw its own connection out, in the middle of the transaction."""

    key_may_repeat: bool = True
    is_single_statement: bool = False
    locks: Locks = Locks.NOTHING

    def write(self, connection: Connection, items: Sequence[None]) -> Sequence[None]:
        postgres = connection.dialect.name == "postgresql"
        end = "SELECT pg_terminate_backend(pg_backend_pid())" if postgres else "KILL CONNECTION_ID()"
        connection.execute(text(end))
        return items


def steps(connection: Connection) -> list[tuple[str, int]]:
    in_order_of_writing = select(STEPS.c.execution, STEPS.c.number).order_by(STEPS.c.place)
    return [(execution, number) for execution, number in connection.execute(in_order_of_writing)]


@pytest.fixture(params=EVERY_KIND)
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    kind: Kind = request.param
    async with fresh_database(kind, server_of(kind, request)) as address:
        database = open_database(address)
        await database.write(STEPS.create)
        await database.close()
        yield address


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    opened = open_database(url)
    yield opened
    await opened.close()


async def test_many_callers_share_few_commits_and_each_keeps_its_order(database: Database) -> None:
    sizes: list[int] = []
    committer = GroupCommitter(database, observe=lambda size, seconds: sizes.append(size))
    journal = Journal()

    async def run(execution: str) -> None:
        for first in range(0, 10, 2):
            unawaited = committer.submit(journal, Step(execution, first), execution)
            assert await committer.submit(journal, Step(execution, first + 1), execution) == first + 1
            assert await unawaited == first

    await asyncio.gather(*(run(f"execution {number}") for number in range(40)))
    found = await database.read(steps)
    for execution in {name for name, _ in found}:
        assert [number for name, number in found if name == execution] == list(range(10))
    assert sum(sizes) == len(found) == 400
    assert len(sizes) < 40


async def test_a_write_that_this_database_refuses_fails_alone(database: Database) -> None:
    committer, journal = GroupCommitter(database), Journal()
    numbers = [None if number in (7, 30) else number for number in range(50)]
    answers = [committer.submit(journal, Step("e", number), at) for at, number in enumerate(numbers)]
    await asyncio.wait(answers)
    assert [at for at, answer in enumerate(answers) if answer.exception()] == [7, 30]
    written = await database.read(steps)
    assert sorted(number for _, number in written) == [number for number in numbers if number is not None]


@pytest.mark.parametrize("url", SERVERS, indirect=True)
async def test_a_text_that_is_too_long_fails_alone(database: Database) -> None:
    committer, journal = GroupCommitter(database), Journal()
    names = ["fits", "x" * 41, "fits too"]
    answers = [committer.submit(journal, Step(name, 1), name) for name in names]
    await asyncio.wait(answers)
    assert [answer.exception() is None for answer in answers] == [True, False, True]
    assert sorted(await database.read(steps)) == [("fits", 1), ("fits too", 1)]


@pytest.mark.parametrize("url", SERVERS, indirect=True)
async def test_a_lost_connection_writes_nothing_and_the_next_batch_goes_on(database: Database) -> None:
    committer, journal = GroupCommitter(database), Journal()
    answers = [committer.submit(journal, Step("e", number), number) for number in range(5)]
    hangup = committer.submit(Hangup(), None, "hangup")
    results = await asyncio.gather(*answers, hangup, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable] * 6
    assert await database.read(steps) == []
    assert await committer.submit(journal, Step("e", 6), 6) == 6


def test_what_a_killed_process_called_durable_is_there(url: str) -> None:
    environment = dict(os.environ) | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, str(WRITER), url], stdout=subprocess.PIPE, env=environment
    ) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(200)]
        time.sleep(0.05)
        os.kill(writer.pid, signal.SIGKILL)
        told += writer.stdout.readlines()
    whole_lines = [line.decode().split() for line in told if line.endswith(b"\n")]
    durable = {(name, int(number)) for name, number in whole_lines}

    async def look() -> list[tuple[str, int]]:
        database = open_database(url)
        found = await database.read(steps)
        await database.close()
        return found

    found = asyncio.run(look())
    assert len(durable) >= 200
    assert durable <= set(found)
    assert len(found) == len(set(found))
    for caller in {name for name, _ in found}:
        numbers = [number for name, number in found if name == caller]
        assert numbers == list(range(len(numbers)))
