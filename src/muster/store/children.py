"""Children of executions, and how they are started by a visit of a node.

Whoever starts, ends or gives up children has locked the row of their parent, so what a visit still waits for
is counted by one transaction at a time.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, false, func, or_, select, tuple_

from muster.engine.openings import ChildOpening, ListOpening
from muster.engine.owned import NewExecution
from muster.engine.state import ExecutionStatus
from muster.model.execution import NodeStatus
from muster.store import limits
from muster.store.answers import Answer, give
from muster.store.dialect import insert_new, insert_rows, now, upsert
from muster.store.item_rows import failed_for_good
from muster.store.journal import KEY
from muster.store.large_values import OF_EXECUTIONS, Laying
from muster.store.tables import execution_child, node_execution, workflow_execution

E = workflow_execution.c
J = node_execution.c
C = execution_child.c
WAITING = NodeStatus.WAITING_FOR_REPLY.value
PLACE_OF_LIST = -1


class Place(NamedTuple):
    """The visit of a node that has children."""

    execution_id: str
    node: str
    visit: int

    def children(self) -> tuple[ColumnElement[bool], ...]:
        return (C.execution_id == self.execution_id, C.node_id == self.node, C.visit == self.visit)

    def held_children(self) -> tuple[ColumnElement[bool], ...]:
        """Those of a list whose turn has not come."""
        return (*self.children(), C.held.is_(True), C.place > PLACE_OF_LIST)


def open_children(connection: Connection, parent_id: str, children: Sequence[ChildOpening]) -> None:
    """Start them, or have them wait for their turn. What is there already is left alone."""
    wanted = _not_opened_yet(connection, parent_id, children)
    if not wanted:
        return
    at = now(connection)
    held = _held(connection, parent_id, wanted)
    rows, laying = [], Laying(OF_EXECUTIONS)
    for child in wanted:
        status = ExecutionStatus.QUEUED if child.id in held or child.limit else ExecutionStatus.PAUSED
        due = at if status is ExecutionStatus.PAUSED else at + limits.NEXT_LOOK
        rows.append(limits.unowned_row(laying, _new(parent_id, child), status, due, at, child.depth))
    # A child that is there may have ended long ago: its visit is not to wait for it again.
    fresh = insert_new(connection, workflow_execution, rows, ("id",))
    laying.write(connection)
    new = [child for child in wanted if (child.id,) in fresh]
    insert_rows(
        connection,
        execution_child,
        [_link(parent_id, child, child.id in held) for child in new if child.awaited],
    )
    upsert(
        connection,
        node_execution,
        [_item_row(parent_id, child) for child in new if child.item_key],
        KEY,
    )
    turn = [child for child in new if child.id not in held]
    enter(connection, [limits.Queued(each.id, each.workflow_id, each.limit) for each in turn if each.limit])


def open_list(connection: Connection, parent_id: str, opening: ListOpening) -> None:
    """Begin to open a list, or be done with it: then the visit is answered as soon as no child is left."""
    place = Place(parent_id, opening.node, opening.visit)
    # Whoever opened this list before, and went away, is not waited for.
    marks = delete(execution_child).where(*place.children(), C.place == PLACE_OF_LIST)
    connection.execute(marks)
    mark = _row(place, "", PLACE_OF_LIST)
    held = not opening.complete
    insert_rows(connection, execution_child, [{**mark, "child_execution_id": opening.id, "held": held}])
    if opening.complete:
        give(connection, answers_of_lists(connection, [place]))


def answers_of_lists(connection: Connection, places: Iterable[Place]) -> list[Answer]:
    """The answers to those that wait for no child any more. Each is given once."""
    return [answer for place in places if (answer := _answer_of_list(connection, place)) is not None]


def _answer_of_list(connection: Connection, place: Place) -> Answer | None:
    first = select(C.child_execution_id).where(*place.children(), C.place > PLACE_OF_LIST).limit(1)
    if connection.execute(first).first() is not None:
        return None
    mark = (*place.children(), C.place == PLACE_OF_LIST, C.held.is_(False))
    list_id = connection.scalar(select(C.child_execution_id).where(*mark))
    if list_id is None:
        return None
    connection.execute(delete(execution_child).where(*mark))
    return Answer(*place, list_id, {})


def enter(connection: Connection, children: Sequence[limits.Queued]) -> None:
    """It is the turn of children that are under a limit of their own workflow: they come under it now."""
    if children:
        limits.lock_workflows(connection, {child.workflow_id for child in children})
        limits.queue(connection, children)
        limits.admit(connection, {child.limit.key for child in children})


def _not_opened_yet(
    connection: Connection, parent_id: str, children: Sequence[ChildOpening]
) -> list[ChildOpening]:
    """An item whose child is under way, or has completed, is not started again; by the retry policy, neither
    is one that has failed for good."""
    places = [(parent_id, child.node, child.visit, child.item_key) for child in children if child.item_key]
    if not places:
        return list(children)
    rows = select(J.node_id, J.visit, J.item_key).where(
        tuple_(J.execution_id, J.node_id, J.visit, J.item_key).in_(places),
        or_(
            J.status.in_([WAITING, NodeStatus.COMPLETED]),
            failed_for_good() if children[0].attempt > 1 else false(),
        ),
    )
    opened = {tuple(row) for row in connection.execute(rows)}
    return [child for child in children if (child.node, child.visit, child.item_key) not in opened]


def _held(connection: Connection, parent_id: str, children: Sequence[ChildOpening]) -> set[str]:
    """Those of a list for which there is no room yet."""
    held: set[str] = set()
    for place, same in _by_place(parent_id, children).items():
        started = (*place.children(), C.held.is_(False), C.place > PLACE_OF_LIST)
        count: int = connection.execute(select(func.count()).where(*started)).scalar_one()
        held |= {child.id for child in same[max(same[0].at_once - count, 0) :]}
    return held


def _by_place(parent_id: str, children: Iterable[ChildOpening]) -> dict[Place, list[ChildOpening]]:
    """The children that are awaited of each list."""
    places: dict[Place, list[ChildOpening]] = defaultdict(list)
    for child in children:
        if child.item_key and child.awaited:
            places[Place(parent_id, child.node, child.visit)].append(child)
    return places


def _new(parent_id: str, child: ChildOpening) -> NewExecution:
    return NewExecution(
        id=child.id,
        workflow_id=child.workflow_id,
        version_id=child.version_id,
        institute_id=child.institute_id,
        owner=None,
        context=child.context,
        started_at=child.started_at,
        parent_id=parent_id,
        trace=child.trace,
    )


def _row(place: Place, item_key: str, number: int) -> dict[str, Any]:
    return {
        "execution_id": place.execution_id,
        "node_id": place.node,
        "visit": place.visit,
        "item_key": item_key,
        "place": number,
        "held": False,
        "stops": False,
        "concurrency_key": None,
        "concurrency_limit": None,
    }


def _link(parent_id: str, child: ChildOpening, held: bool) -> dict[str, object]:
    row = _row(Place(parent_id, child.node, child.visit), child.item_key, child.place)
    limit = child.limit
    return row | {
        "child_execution_id": child.id,
        "held": held,
        "stops": child.stops,
        "concurrency_key": limit.key if limit else None,
        "concurrency_limit": limit.most if limit else None,
    }


def _item_row(parent_id: str, child: ChildOpening) -> dict[str, object]:
    """A journal row that is the child's affair: the parent's own rows count up, these count down."""
    return {
        "execution_id": parent_id,
        "node_id": child.node,
        "visit": child.visit,
        "item_key": child.item_key,
        "seq": -1 - child.place,
        "attempt": child.attempt,
        "status": WAITING if child.awaited else NodeStatus.COMPLETED.value,
        "output": {"executionId": child.id},
        "changes": None,
        "error": None,
        "warnings": None,
        "aside": None,
        "due_at": None,
        "started_at": child.started_at,
        "completed_at": None if child.awaited else child.started_at,
    }
