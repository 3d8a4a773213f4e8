"""Concurrency limits: who may start is decided under the lock of the workflow's row, by counting rows."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Select, delete, func, select, update

from muster.engine.openings import Limit
from muster.engine.owned import FIRST_FENCE, Begun, NewExecution
from muster.engine.state import ExecutionStatus
from muster.store.committer import Locks
from muster.store.dialect import Claim, insert_new, now, update_rows
from muster.store.execution_rows import is_where_it_began, new_row
from muster.store.finding import write_tags_and_terms
from muster.store.large_values import OF_EXECUTIONS, Laying
from muster.store.once import Claims
from muster.store.tables import execution_limit, workflow, workflow_execution

E = workflow_execution.c
L = execution_limit.c
# Who ends lets the next one in, and whoever looks at a limit sees all that are queued there. So the time of
# an execution's own next look is far: it costs a write.
NEXT_LOOK = timedelta(days=1)
ADMITTED_AT_ONCE = 100
QUEUED = ExecutionStatus.QUEUED.value

UNDER_WAY = execution_limit.alias()
# Limits that somebody is queued at although there is room.
WITH_ROOM = (
    select(L.workflow_id, L.concurrency_key)
    .where(L.queued.is_(True))
    .group_by(L.workflow_id, L.concurrency_key)
    .having(
        select(func.count())
        .select_from(UNDER_WAY)
        .where(UNDER_WAY.c.concurrency_key == L.concurrency_key, UNDER_WAY.c.queued.is_(False))
        .scalar_subquery()
        < func.max(L.concurrency_limit)
    )
)


@dataclass(frozen=True, slots=True)
class Queued:
    """An execution that comes under a limit."""

    execution_id: str
    workflow_id: str
    limit: Limit


class StartingLimited:
    """Begins executions that are under a limit: running and owned, or queued. Of those with one key, one
    begins."""

    key_may_repeat = True
    locks = Locks.KEYS | Locks.ROWS
    is_single_statement = False

    def __init__(self, lease: timedelta) -> None:
        self._lease = lease

    def write(self, connection: Connection, items: Sequence[NewExecution]) -> Sequence[Begun]:
        claims = Claims(connection, items)
        runs = start_limited(connection, claims.winners(items), self._lease)
        running, queued = ExecutionStatus.RUNNING, ExecutionStatus.QUEUED
        return claims.answers(items, {new: running if may else queued for new, may in runs.items()})


def start_limited(
    connection: Connection, items: Sequence[NewExecution], lease: timedelta = timedelta(0)
) -> dict[str, bool]:
    """Begin executions that are under a limit, each owned by its owner, if it has one, for a lease. Says
    which of them may run; the others are queued."""
    if not items:
        return {}
    lock_workflows(connection, {item.workflow_id for item in items})
    at = now(connection)
    laying = Laying(OF_EXECUTIONS)
    rows = [unowned_row(laying, item, ExecutionStatus.QUEUED, at + NEXT_LOOK, at) for item in items]
    fresh = insert_new(connection, workflow_execution, rows, ("id",))
    laying.write(connection)
    new = [item for item in items if (item.id,) in fresh]
    write_tags_and_terms(connection, new)
    queue(connection, [Queued(item.id, item.workflow_id, item.limit) for item in new if item.limit])
    admitted = _admitted(connection, {item.limit.key for item in items if item.limit})
    make_due(connection, admitted)
    owned = [item for item in new if item.id in admitted and item.owner is not None]
    _give_to_owners(connection, owned, at + lease)
    return {
        item.id: item.id in admitted if (item.id,) in fresh else _runs(connection, item) for item in items
    }


def _give_to_owners(connection: Connection, items: Sequence[NewExecution], until: datetime) -> None:
    rows = [
        {
            "id": item.id,
            "status": ExecutionStatus.RUNNING.value,
            "owner": item.owner,
            "lease_until": until,
            "resume_at": None,
            "fence": FIRST_FENCE,
        }
        for item in items
    ]
    update_rows(connection, workflow_execution, rows, ("id",))


def _runs(connection: Connection, item: NewExecution) -> bool:
    """Of one that was written before, by a commit whose answer got lost: whether it is as it was then."""
    row = connection.execute(select(workflow_execution).where(E.id == item.id)).one()
    return is_where_it_began(row, item.owner)


def lock_workflows(connection: Connection, ids: Collection[str]) -> None:
    """From here to the end of the transaction nobody else counts what runs of these workflows."""
    if ids:
        held = select(workflow.c.id).where(workflow.c.id.in_(sorted(ids))).order_by(workflow.c.id)
        connection.execute(held.with_for_update()).all()


def queue(connection: Connection, items: Iterable[Queued]) -> None:
    """Put executions behind those that are queued already. Their workflows are locked."""
    rows = [
        {
            "execution_id": item.execution_id,
            "workflow_id": item.workflow_id,
            "concurrency_key": item.limit.key,
            "concurrency_limit": item.limit.most,
            "queued": True,
        }
        for item in items
    ]
    insert_new(connection, execution_limit, rows, ("execution_id",))


def admit(connection: Connection, keys: Collection[str]) -> int:
    """Make due what the limits have room for, in the order of queueing; how many they were. The workflows are
    locked."""
    admitted = _admitted(connection, keys)
    make_due(connection, admitted)
    return len(admitted)


def leave(connection: Connection, ids: Collection[str]) -> None:
    """Executions have ended: let in whoever was queued behind them."""
    if not ids:
        return
    gone = select(L.workflow_id, L.concurrency_key).where(L.execution_id.in_(sorted(ids)))
    left = connection.execute(gone).all()
    if not left:
        return
    lock_workflows(connection, {row.workflow_id for row in left})
    connection.execute(delete(execution_limit).where(L.execution_id.in_(sorted(ids))))
    admit(connection, {row.concurrency_key for row in left})


def end_queued(connection: Connection, ids: Select[tuple[str]] | Sequence[str], reason: str) -> bool:
    """End those that are queued: they have done nothing, so there is nothing to wind up, and nobody's turn
    comes by it. Says whether there were any."""
    limited = select(L.workflow_id).where(L.execution_id.in_(ids)).distinct()
    lock_workflows(connection, connection.scalars(limited).all())
    at = now(connection)
    over = {
        "status": ExecutionStatus.CANCELLED.value,
        "resume_at": None,
        "error_type": "Cancelled",
        "error_message": reason,
        "completed_at": at,
        "updated_at": at,
    }
    ended = update(workflow_execution).where(E.id.in_(ids), E.status == QUEUED).values(over)
    any_ended = connection.execute(ended).rowcount > 0
    connection.execute(delete(execution_limit).where(L.execution_id.in_(ids), L.queued.is_(True)))
    return any_ended


def look_again(connection: Connection, most: int) -> int:
    """Let in what limits have room for and nobody has let in; how many they were. That is looked up for all
    limits at once, and writes nothing of those who have to go on waiting."""
    found = connection.execute(WITH_ROOM.limit(most)).all()
    lock_workflows(connection, {row.workflow_id for row in found})
    return admit(connection, {row.concurrency_key for row in found})


def look_later(connection: Connection, most: int) -> int:
    """Give those that are queued the time of their next look if the last one is over; how many they were."""
    at = now(connection)
    chosen = select(E.id).where(E.status == QUEUED, E.resume_at <= at).order_by(E.resume_at, E.id).limit(most)
    later = Claim(workflow_execution, chosen, {"resume_at": at + NEXT_LOOK}, [E.id])
    return len(later.run(connection))


def _admitted(connection: Connection, keys: Collection[str]) -> set[str]:
    return {execution_id for key in sorted(keys) for execution_id in _admitted_of(connection, key)}


def _admitted_of(connection: Connection, key: str) -> list[str]:
    """Those of one key that may start, from now on counted as under way."""
    under_way = select(func.count()).where(L.concurrency_key == key, L.queued.is_(False))
    count: int = connection.execute(under_way).scalar_one()
    queued = select(L.execution_id, L.concurrency_limit).where(L.concurrency_key == key, L.queued.is_(True))
    next_ones = connection.execute(queued.order_by(L.execution_id).limit(ADMITTED_AT_ONCE)).all()
    admitted: list[str] = []
    for row in next_ones:
        if count + len(admitted) >= row.concurrency_limit:
            break
        admitted.append(row.execution_id)
    if admitted:
        changed = update(execution_limit).where(L.execution_id.in_(admitted))
        connection.execute(changed.values(queued=False))
    return admitted


def make_due(connection: Connection, ids: Collection[str]) -> None:
    """Nobody owns them yet: whoever is first takes them up."""
    if ids:
        at = now(connection)
        due = {"status": ExecutionStatus.PAUSED.value, "resume_at": at, "updated_at": at}
        queued = update(workflow_execution).where(E.id.in_(sorted(ids)), E.status == QUEUED)
        connection.execute(queued.values(due))


def unowned_row(
    laying: Laying, new: NewExecution, status: ExecutionStatus, due: datetime, at: datetime, depth: int = 0
) -> dict[str, object]:
    """An execution that has not begun, for whoever takes it up first: that one's fence is the first."""
    return {
        **new_row(laying, new._replace(owner=None), at),
        "status": status.value,
        "resume_at": due,
        "depth": depth,
    }
