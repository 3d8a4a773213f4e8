"""Executions that ended long ago go, with all that belongs to them, so many at a time.

Nothing goes that is not over: an execution stays while its parent does, while somebody waits for it, and
while its dead letter is open.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, delete, exists, func, or_, select

from muster.engine.letters import LetterKind, LetterStatus
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.tables import (
    approval,
    approval_assignee,
    dead_letter,
    delivery,
    execution_child,
    execution_signal,
    execution_takeover,
    node_execution,
    workflow_execution,
)

A, C, D, J = approval.c, execution_child.c, dead_letter.c, node_execution.c
E, P = workflow_execution.c, workflow_execution.alias("parent").c
# Of one execution there may be far more rows than of the others.
MOST_ROWS = 10_000
# How long until those that had to stay, for another's sake, are looked at again.
ANEW_SECONDS = 3_600.0
BELONGING: tuple[Table, ...] = (node_execution, execution_signal, execution_takeover, delivery)

IS_WAITED_FOR = exists().where(C.child_execution_id == E.id)
WAITS_ITSELF = exists().where(C.execution_id == E.id)
HAS_LETTER = exists().where(
    D.kind == LetterKind.EXECUTION.value, D.key == E.id, D.status == LetterStatus.OPEN.value
)


class OldExecutions:
    """`engine.housekeeping.Expiring`. Reads on along the index of what has changed, from where it was: those
    that rest for longer than others are kept are passed once, and not every time."""

    def __init__(
        self, database: Database, kept_for: timedelta, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._database, self._kept_for, self._seconds = database, kept_for, seconds
        self._last: tuple[datetime, str] | None = None
        self._began = seconds()

    async def forget_expired(self, most: int) -> int:
        if self._seconds() - self._began > ANEW_SECONDS:
            self._last, self._began = None, self._seconds()
        seen, is_all = await self._database.write(lambda connection: self._forget(connection, most))
        if seen:
            self._last = (seen[-1].updated_at, seen[-1].id)
        return len(seen) if is_all else most

    def _forget(self, connection: Connection, most: int) -> tuple[Sequence[Row[Any]], bool]:
        """Those that were looked at, of which what could go is gone; and whether that is all there was."""
        before = now(connection) - self._kept_for
        rows = connection.execute(_after(self._last, before).limit(most)).all()
        seen = _bounded(connection, rows)
        if seen:
            _remove(connection, _held(connection, [row.id for row in seen], before))
        return seen, len(seen) == len(rows)


def _after(last: tuple[datetime, str] | None, before: datetime) -> Any:
    columns = select(E.id, E.updated_at).where(E.updated_at < before)
    if last is not None:
        at, passed = last
        columns = columns.where(E.updated_at >= at, or_(E.updated_at > at, E.id > passed))
    return columns.order_by(E.updated_at, E.id)


def _bounded(connection: Connection, rows: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
    """As many of these, from the first on, as have not too many rows of the journal between them."""
    ids = [row.id for row in rows]
    counted = select(J.execution_id, func.count()).where(J.execution_id.in_(ids)).group_by(J.execution_id)
    sizes = {row[0]: row[1] for row in connection.execute(counted)} if ids else {}
    total = 0
    for place, row in enumerate(rows):
        total += sizes.get(row.id, 0)
        if total > MOST_ROWS and place:
            return rows[:place]
    return rows


def _held(connection: Connection, ids: Sequence[str], before: datetime) -> Sequence[str]:
    """Those of them that may go, locked: nobody retries one meanwhile. Whom another holds stays."""
    chosen = select(E.id).where(E.id.in_(ids), _may_go(before)).order_by(E.id)
    return list(connection.scalars(chosen.with_for_update(skip_locked=True, of=workflow_execution)))


def _may_go(before: datetime) -> ColumnElement[bool]:
    has_parent = exists().where(
        P.id == E.parent_execution_id, or_(P.completed_at.is_(None), P.updated_at >= before)
    )
    is_over = and_(E.completed_at.is_not(None), E.updated_at < before)
    return and_(is_over, ~has_parent, ~IS_WAITED_FOR, ~WAITS_ITSELF, ~HAS_LETTER)


def _remove(connection: Connection, ids: Sequence[str]) -> None:
    if not ids:
        return
    asked = select(A.id).where(A.execution_id.in_(ids))
    approvals = list(connection.scalars(asked))
    if approvals:
        connection.execute(delete(approval_assignee).where(approval_assignee.c.approval_id.in_(approvals)))
        connection.execute(delete(approval).where(A.id.in_(approvals)))
    for table in BELONGING:
        connection.execute(delete(table).where(table.c.execution_id.in_(ids)))
    letters = (D.kind == LetterKind.EXECUTION.value, D.key.in_(ids))
    connection.execute(delete(dead_letter).where(*letters))
    # The rest goes with it: tags, terms, large values, waits, tasks, commands.
    connection.execute(delete(workflow_execution).where(E.id.in_(ids)))
