"""The one order in which transactions lock rows, so that no two of them wait for each other:

1. streams of the outbox and their messages, by who publishes them; keys of starts, first those of messages,
   by their hashes; events under business keys, by their ids;
2. bulk jobs, then their items, by their ids;
3. workflows whose limits are counted, by their ids;
4. executions that have begun, by their ids;
5. executions that are queued, each only by who holds what it waits for: its limit's workflow, or its parent;
6. what belongs to an execution (journal, signals, children, limits, approvals, tasks,
   dead letters), under its lock;
7. where the next message of a partition of the bus is to be put, by topic and partition.

What a transaction will touch is looked up before anything is locked. If it turns out to have changed by the
time that the locks are there, the transaction is undone and begins anew (`LookAgain`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, or_, select

from muster.engine.openings import ChildOpening, Closing
from muster.engine.owned import Progress
from muster.engine.state import FINAL
from muster.store.children import PLACE_OF_LIST, C, E, Place
from muster.store.database import LookAgain
from muster.store.dialect import lock_rows
from muster.store.limits import QUEUED, L, lock_workflows
from muster.store.tables import execution_child, workflow_execution


def lock_ahead(connection: Connection, items: Sequence[Progress]) -> set[str]:
    """Lock the workflows whose limits these writes concern. Answers the executions that are to be locked with
    their own: children that have begun, and that are told to stop."""
    closings = [(item.execution_id, item.closes) for item in items if item.closes is not None]
    ended = [item for item in items if item.ends]
    workflows = {
        opening.workflow_id
        for item in items
        for opening in item.opens
        if isinstance(opening, ChildOpening) and opening.limit is not None
    }
    workflows |= _limiting(connection, [item.execution_id for item in ended if item.is_limited])
    workflows |= _limiting_next(connection, [item.execution_id for item in ended if item.parent_id])
    for execution_id, closing in closings:
        workflows |= _limiting(connection, opened_by(execution_id, closing))
    lock_workflows(connection, workflows)
    return {child for closed in closings for child in begun(connection, opened_by(*closed))}


def lock_ahead_of_closing(connection: Connection, execution_id: str, closing: Closing) -> set[str]:
    """The same for what one execution closes."""
    lock_workflows(connection, _limiting(connection, opened_by(execution_id, closing)))
    return set(begun(connection, opened_by(execution_id, closing)))


def opened_by(execution_id: str, closing: Closing) -> Select[tuple[str]]:
    """The children that a closing is about."""
    chosen = select(C.child_execution_id).where(C.execution_id == execution_id, C.place > PLACE_OF_LIST)
    if closing.everything:
        return chosen
    return chosen.where(or_(*(and_(C.node_id == node, C.visit == visit) for node, visit in closing.visits)))


def begun(connection: Connection, children: Select[tuple[str]]) -> Sequence[str]:
    """Those of them that have begun and not ended."""
    live = select(E.id).where(E.id.in_(children), E.status.not_in([*sorted(FINAL), QUEUED]))
    return connection.scalars(live.order_by(E.id)).all()


def _limiting(connection: Connection, ids: Select[tuple[str]] | Sequence[str]) -> set[str]:
    if isinstance(ids, Sequence) and not ids:
        return set()
    return set(connection.scalars(select(L.workflow_id).where(L.execution_id.in_(ids)).distinct()))


def _limiting_next(connection: Connection, ended: Collection[str]) -> set[str]:
    """The workflows of limits that children come under whose turn it is when these have ended."""
    if not ended:
        return set()
    links = select(C.execution_id, C.node_id, C.visit).where(
        C.child_execution_id.in_(sorted(ended)), C.item_key != ""
    )
    ends: dict[Place, int] = defaultdict(int)
    for link in connection.execute(links):
        ends[Place(*link)] += 1
    return {workflow for place, count in ends.items() for workflow in _next_ones(connection, place, count)}


def _next_ones(connection: Connection, place: Place, count: int) -> Iterable[str]:
    held = (
        select(E.workflow_id, C.concurrency_key)
        .join_from(execution_child, workflow_execution, E.id == C.child_execution_id)
        .where(*place.children(), C.held.is_(True), C.place > PLACE_OF_LIST)
    )
    rows = connection.execute(held.order_by(C.place).limit(count)).all()
    return [row.workflow_id for row in rows if row.concurrency_key is not None]


def lock_reached(connection: Connection, ids: Collection[str], columns: Sequence[str]) -> dict[str, Row[Any]]:
    """Lock executions that something reaches from outside, with what those wait for that are queued: limits'
    workflows and parents. Raises `LookAgain`."""
    chosen = select(E.id, E.parent_execution_id).where(E.id.in_(sorted(ids)), E.status == QUEUED)
    queued = {row.id: row.parent_execution_id for row in connection.execute(chosen)} if ids else {}
    lock_workflows(connection, _limiting(connection, sorted(queued)) | _limiting_next(connection, queued))
    parents = {parent for parent in queued.values() if parent is not None}
    first = _locked(connection, (set(ids) - queued.keys()) | parents, columns)
    last = _locked(connection, queued, columns)
    if any(row.status == QUEUED for row in first.values()) or any(
        row.status != QUEUED for row in last.values()
    ):
        raise LookAgain("an execution was queued, or let in, in between")
    return first | last


def lock_begun(connection: Connection, ids: Collection[str]) -> None:
    """Lock executions of which it is known that none is queued. Raises `LookAgain`."""
    if any(row.status == QUEUED for row in _locked(connection, ids, ("id", "status")).values()):
        raise LookAgain("an execution was queued in between")


def _locked(connection: Connection, ids: Collection[str], columns: Sequence[str]) -> dict[str, Row[Any]]:
    rows = lock_rows(connection, workflow_execution, "id", list(ids), columns) if ids else []
    return {row.id: row for row in rows}
