"""The self-check: live executions that nobody would ever look at again. There are none."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import ColumnElement, Connection, and_, not_, or_, select

from muster.engine.commands import OPEN
from muster.engine.event_waits import WaitStatus
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.approval import ApprovalStatus
from muster.model.external_task import TaskStatus
from muster.store.database import Database
from muster.store.dialect import json_is_true, json_member
from muster.store.tables import (
    approval,
    execution_child,
    execution_limit,
    execution_wait_states,
    external_task,
    node_execution,
    workflow_execution,
    workflow_kafka_commands,
)

E = workflow_execution.c
J = node_execution.c
C = execution_child.c
L = execution_limit.c
A = approval.c
W = execution_wait_states.c
K = workflow_kafka_commands.c
X = external_task.c
MOST = 1000
# Of those that wait so many are looked at in a row; the next look goes on after them.
PAGE = 5000

# One that was paused by hand is woken by a person.
UNATTENDED = (
    select(E.id)
    .where(
        E.completed_at.is_(None),  # along the index of what is live
        E.status.not_in([*sorted(FINAL), ExecutionStatus.WAITING.value]),
        E.lease_until.is_(None),
        E.resume_at.is_(None),
        not_(and_(E.status == ExecutionStatus.PAUSED, json_is_true(E.state, "held"))),
    )
    .order_by(E.id)
    .limit(MOST)
)
# What may wake an execution that waits: a kind of wait that has a table of its own is one more.
OPEN_WAITS: tuple[ColumnElement[bool], ...] = (
    select(C.child_execution_id).where(C.execution_id == E.id).exists(),
    select(A.id).where(A.execution_id == E.id, A.status == ApprovalStatus.OPEN).exists(),
    select(W.id)
    .where(W.execution_id == E.id, W.status.in_([WaitStatus.WAITING.value, WaitStatus.RESUMING.value]))
    .exists(),
    select(K.id).where(K.workflow_instance_id == E.id, K.status.in_(sorted(OPEN))).exists(),
    select(X.id).where(X.execution_id == E.id, X.status == TaskStatus.OPEN.value).exists(),
    # Nothing of ours answers it: whoever was asked does, over the API.
    select(J.node_id)
    .where(
        J.execution_id == E.id,
        J.status.startswith("waiting"),
        json_member(J.output, "correlationId").is_(None),
    )
    .exists(),
)
HELD_PLACES: tuple[ColumnElement[bool], ...] = (
    select(L.execution_id).where(L.execution_id == E.id, L.queued.is_(True)).exists(),
    select(C.child_execution_id).where(C.child_execution_id == E.id, C.held.is_(True)).exists(),
)
LEFT_ALONE = {
    ExecutionStatus.WAITING.value: and_(
        E.lease_until.is_(None), E.resume_at.is_(None), not_(or_(*OPEN_WAITS))
    ),
    ExecutionStatus.QUEUED.value: not_(or_(*HELD_PLACES)),
}


class SelfCheck:
    """`engine.self_check.Unattended` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._after = dict.fromkeys(LEFT_ALONE, "")

    async def unattended(self) -> Sequence[str]:
        """All that have neither a lease nor a due time; and of those that wait or are queued, a page at a
        time, those that nothing can wake."""
        found = [*await self._database.read(lambda connection: connection.scalars(UNATTENDED).all())]
        for status in LEFT_ALONE:
            found += await self._database.read(partial(self._next, status=status))
        return found

    def _next(self, connection: Connection, status: str) -> Sequence[str]:
        after = select(E.id).where(E.status == status, E.id > self._after[status])
        page = connection.scalars(after.order_by(E.id).limit(PAGE)).all()
        self._after[status] = page[-1] if len(page) == PAGE else ""
        if not page:
            return []
        those = (E.status == status, E.id >= page[0], E.id <= page[-1])
        return connection.scalars(select(E.id).where(*those, LEFT_ALONE[status]).order_by(E.id)).all()
