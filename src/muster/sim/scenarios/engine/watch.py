"""Looking at every commit: a database that reports what it holds, a repository that reports what it says."""

import json
import sqlite3
from typing import TypeVar

from sqlalchemy import Connection

from muster.engine.journal import COMPENSATION
from muster.engine.owned import Progress
from muster.sim.scenarios.engine.invariants import (
    UNDO,
    Seen,
    Snapshot,
    Step,
    at_commit,
    place_of,
    stale_write,
)
from muster.sim.scenarios.engine.ledger import Ledger
from muster.store.database import Database, Work
from muster.store.executions import ExecutionRepository

T = TypeVar("T")
ROWS = """
SELECT id, workflow_version_id, status, fence, owner, lease_until IS NOT NULL, resume_at IS NOT NULL,
       coalesce(json_extract(state, '$.held'), 0),
       status = 'WAITING' AND (
           EXISTS (SELECT 1 FROM execution_child c WHERE c.execution_id = e.id)
           OR EXISTS (SELECT 1 FROM approval a WHERE a.execution_id = e.id AND a.status = 'OPEN')
           OR EXISTS (SELECT 1 FROM node_execution j WHERE j.execution_id = e.id AND j.status LIKE 'waiting%'
                      AND json_extract(j.output, '$.correlationId') IS NULL)),
       status <> 'QUEUED'
           OR EXISTS (SELECT 1 FROM execution_limit l WHERE l.execution_id = e.id AND l.queued)
           OR EXISTS (SELECT 1 FROM execution_child c WHERE c.child_execution_id = e.id AND c.held),
       takeovers, error_type, context, completed_at
FROM workflow_execution e ORDER BY id
"""
JOURNAL = """
SELECT execution_id, node_id, visit, item_key, seq, status, coalesce(changes, output), error
FROM node_execution ORDER BY execution_id, seq, node_id, visit, item_key
"""
STATUSES = "SELECT execution_id, node_id, visit, item_key, status FROM node_execution"


class WatchedDatabase:
    """A database over an inline one. What a transaction left behind is compared with what was there before;
    one that changed nothing needs no look."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
        self._database, self._ledger = database, ledger
        self.dialect_name = database.dialect_name

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        looked: list[Snapshot] = []

        def work_and_look(connection: Connection) -> T:
            driver = _driver(connection)
            changes = driver.total_changes
            result = work(connection)
            if driver.total_changes != changes:
                looked.append(_look(driver, self._ledger.seen))
            return result

        result = await self._database.write(work_and_look)
        for after in looked:  # it is committed
            ledger = self._ledger
            ledger.blame(at_commit(ledger.seen, after, ledger.accepted, ledger.culprits))
            ledger.seen = after
        return result

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        return await self._database.read(work, single=single)

    async def close(self) -> None:
        await self._database.close()


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _look(driver: sqlite3.Connection, before: Snapshot) -> Snapshot:
    rows = {row[0]: Seen(*row) for row in driver.execute(ROWS)}
    journal = {
        place_of(execution, node, visit, _item(item)): status
        for execution, node, visit, item, status in driver.execute(STATUSES)
    }
    held = {(row.id, row.fence): row.owner for row in rows.values() if row.owner is not None}
    return Snapshot(rows, journal, {**held, **before.owners})


def steps(connection: Connection) -> dict[str, list[Step]]:
    """The journal, by execution."""
    found: dict[str, list[Step]] = {}
    for execution, node, visit, item, seq, status, changes, error in _driver(connection).execute(JOURNAL):
        merged = json.loads(changes) if changes else {}
        told = json.loads(error) if error else None
        step = Step(
            execution, node, visit, _item(item), seq, status, merged if isinstance(merged, dict) else {}, told
        )
        found.setdefault(execution, []).append(step)
    return found


def _item(item_key: str) -> str:
    return UNDO if item_key == COMPENSATION else item_key


def watched(make: type[ExecutionRepository], ledger: Ledger) -> type[ExecutionRepository]:
    """The repository, looked at when it acknowledges: who was overtaken before it began to write may not
    succeed."""

    class Watched(make):  # type: ignore[misc, valid-type]  # which class it is, the caller decides
        async def write(self, progress: Progress) -> None:
            before = ledger.seen
            await super().write(progress)
            ledger.blame(stale_write(before, progress.execution_id, progress.fence))

    return Watched
