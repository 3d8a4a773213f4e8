"""A thousand starts with one key, over four processes or connections: one begins."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from sqlalchemy import func, select

from engine_house import House, Told, chain, node
from muster.store.database import Database
from muster.store.tables import idempotency_key, workflow_execution
from once_starter import start_all, starter

TESTS = Path(__file__).parents[1]
STARTERS, STARTS = 4, 250


async def test_of_a_thousand_duplicates_one_begins(database: Database, database_url: str) -> None:
    house = House(database, Told())
    await house.define(chain(node("a", "ASK")))
    in_processes = database.dialect_name == "postgresql"
    told = await (_by_processes if in_processes else _by_connections)(database_url)
    assert len(told) == STARTERS * STARTS
    assert len({execution for execution, _ in told}) == 1
    assert [duplicate for _, duplicate in told].count(False) == 1
    for table in (workflow_execution, idempotency_key):
        counted = select(func.count()).select_from(table)
        assert await database.read(lambda connection, c=counted: connection.execute(c).scalar_one()) == 1


async def _by_connections(url: str) -> list[tuple[str, bool]]:
    houses = [starter(url, f"i{number}") for number in range(STARTERS)]
    told = await asyncio.gather(*(start_all(house, STARTS) for house in houses))
    for house in houses:
        await house.instance.leave(0)
        await house.committer.close()
        await house.database.close()
    return [each for some in told for each in some]


async def _by_processes(url: str) -> list[tuple[str, bool]]:
    starters = await asyncio.gather(*(_process(url, f"i{number}") for number in range(STARTERS)))
    try:
        for each in starters:
            assert each.stdout is not None
            assert await each.stdout.readline() == b"ready\n"
        told = await asyncio.gather(*(each.communicate(b"go\n") for each in starters))
    finally:
        for each in starters:
            if each.returncode is None:
                each.kill()
    return [(execution, duplicate) for out, _ in told for execution, duplicate in json.loads(out)]


async def _process(url: str, name: str) -> Process:
    arguments = [sys.executable, str(TESTS / "once_starter.py"), url, name, str(STARTS)]
    return await asyncio.create_subprocess_exec(*arguments, stdin=PIPE, stdout=PIPE)
