"""A database that counts the commits which change something, and crashes its client at one of them."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from sqlalchemy import Connection

from muster.sim.world import current_process
from muster.store.database import Database, Work

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Crash:
    """At the nth commit, from 1: before it, so that nothing of it stays, or right after it."""

    at: int
    after: bool

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} commit {self.at}"


class _Undone(Exception):
    """Ends a transaction so that nothing of it stays."""


class CommitPoints:
    """A `Database` over an inline one. `heard` counts what the world outside has heard; `heard_at` is how
    much that was at each commit. That an instance says that it is there is no commit of anything else."""

    def __init__(self, database: Database, heard: Callable[[], int], crash: Crash | None = None) -> None:
        self._database, self._heard, self._crash = database, heard, crash
        self.heard_at: list[int] = []
        self.dialect_name = database.dialect_name

    @property
    def count(self) -> int:
        return len(self.heard_at)

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        strikes = False

        def counted(connection: Connection) -> T:
            nonlocal strikes
            driver = _driver(connection)
            before = _changes(driver)
            result = work(connection)
            if _changes(driver) != before:
                self.heard_at.append(self._heard())
                strikes = self._crash is not None and self._crash.at == self.count
                if strikes and self._crash is not None and not self._crash.after:
                    raise _Undone
            return result

        with suppress(_Undone):
            result = await self._database.write(counted)
            if not strikes:
                return result
        return await _crash()

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        return await self._database.read(work, single=single)

    async def close(self) -> None:
        await self._database.close()


async def _crash() -> NoReturn:
    client = current_process()
    assert client is not None, "only instances write"
    client.crash()
    await asyncio.get_running_loop().create_future()  # for ever: it is dead
    raise AssertionError("nobody comes back from there")


def _changes(driver: sqlite3.Connection) -> int:
    """How much has changed, not counting the instances that have come."""
    [come] = driver.execute("SELECT count(*) FROM instance_start").fetchone()
    return driver.total_changes - int(come)


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
