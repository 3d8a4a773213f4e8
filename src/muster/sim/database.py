"""A database that fails as databases do, by chance or by a script, around a real one that keeps its word."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from muster.sim.world import Process, World, current_process
from muster.store.database import CommitUnknown, Database, Unavailable, Work

T = TypeVar("T")
MOST_STATEMENTS = 6


class Fault(Enum):
    """What may happen to a transaction."""

    NONE = "answers"
    UNAVAILABLE = "is away"
    COMMIT_LOST = "loses the commit"
    ANSWER_LOST = "commits and loses the answer"
    FAILS_MIDWAY = "fails at one of the statements"
    CRASH_BEFORE = "sees its client crash before the commit"
    CRASH_AFTER = "sees its client crash after the commit"


Choose = Callable[[], Fault]


def by_chance(world: World, purpose: str, odds: Mapping[Fault, float]) -> Choose:
    """Each fault with its probability; what is left to 1 goes well."""
    chance = world.chance(purpose)
    assert sum(odds.values()) <= 1, "the odds add up to more than 1"

    def choose() -> Fault:
        drawn = chance.random()
        for fault, probability in odds.items():
            drawn -= probability
            if drawn < 0:
                return fault
        return Fault.NONE

    return choose


def by_script(faults: Mapping[int, Fault]) -> Choose:
    """The nth transaction (from 0) has the fault given for it, all others none."""
    number = -1

    def choose() -> Fault:
        nonlocal number
        number += 1
        return faults.get(number, Fault.NONE)

    return choose


class _RolledBack(Exception):
    """Ends a transaction so that nothing of it stays."""


class FaultyDatabase:
    """A `Database` over another one, which must be inline.

    Transactions happen outside all processes: one that was sent still commits if its sender crashes while
    the request travels, as with a real server. `slowest` is the longest time (in seconds) that a request, and
    that an answer, travels. While it is not `reachable`, neither is a write begun nor anything read; what was
    on its way is answered.
    """

    def __init__(
        self,
        database: Database,
        world: World,
        choose: Choose,
        slowest: float = 0.01,
        reachable: Callable[[], bool] = lambda: True,
    ) -> None:
        self._database = database
        self._world = world
        self._choose = choose
        self._slowest, self._reachable = slowest, reachable
        self._travel = world.chance("database/travel")
        self.dialect_name = database.dialect_name

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        return await self._ask(work, self._choose())

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        """Reads are slow at times, or cannot reach it; the other faults are for writes."""
        return await self._ask(work, Fault.NONE)

    async def close(self) -> None:
        await self._database.close()

    async def _ask(self, work: Work[T], fault: Fault) -> T:
        return await self._world.outside(self._transact(work, fault, current_process()), "database")

    async def _transact(self, work: Work[T], fault: Fault, client: Process | None) -> T:
        is_reached = self._reachable()
        await self._wander()
        self._world.note("database", fault.value if is_reached else "cannot be reached")
        if fault is Fault.UNAVAILABLE or not is_reached:
            raise Unavailable("the database is away")
        if fault is Fault.FAILS_MIDWAY:
            return await self._fail_midway(work)
        kept = fault in (Fault.NONE, Fault.ANSWER_LOST, Fault.CRASH_AFTER)
        result = await self._database.write(work) if kept else await self._roll_back(work)
        if fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
            _crash(client)
        await self._wander()
        if fault in (Fault.COMMIT_LOST, Fault.ANSWER_LOST):
            raise CommitUnknown("the answer to the commit never came")
        return result

    async def _fail_midway(self, work: Work[T]) -> T:
        """Let one of the statements fail, as if by the disk; shorter work gets through."""
        left = self._travel.randrange(MOST_STATEMENTS)

        def fail_at_last(*_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise OperationalError("a statement", None, sqlite3.OperationalError("the disk is tired"))

        def work_until_it_fails(connection: Connection) -> T:
            event.listen(connection, "before_cursor_execute", fail_at_last)
            return work(connection)

        return await self._database.write(work_until_it_fails)

    async def _roll_back(self, work: Work[T]) -> T:
        results: list[T] = []

        def work_in_vain(connection: Connection) -> None:
            results.append(work(connection))
            raise _RolledBack

        with suppress(_RolledBack):
            await self._database.write(work_in_vain)
        return results[0]

    async def _wander(self) -> None:
        await asyncio.sleep(self._travel.random() * self._slowest)


def _crash(client: Process | None) -> None:
    if client is None:
        raise RuntimeError("a crash was drawn for a caller that belongs to no process")
    client.crash()
