"""What becomes of a visit's children: they end and are told to it, or it gives them up."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, select, update

from muster.engine.journal import PERMANENT, SignalKind
from muster.engine.openings import Closing, Limit
from muster.engine.sizes import TOO_LARGE
from muster.engine.state import FINAL, ExecutionStatus, Failure
from muster.model.aside import asides_in
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.store import limits
from muster.store.answers import Answer, give, reach
from muster.store.children import (
    PLACE_OF_LIST,
    WAITING,
    C,
    E,
    J,
    Place,
    answers_of_lists,
    enter,
)
from muster.store.database import LookAgain
from muster.store.dialect import now, update_rows
from muster.store.journal import KEY
from muster.store.large_values import OF_JOURNAL, Laying, share_values
from muster.store.tables import execution_child, node_execution, workflow_execution

GIVEN_UP_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Ended:
    """How an execution that has a parent came to its end. One that has completed has a `failure` if its
    output is too large to be handed on."""

    id: str
    status: ExecutionStatus
    output: Json = None
    failure: Failure | None = None

    @property
    def error(self) -> JsonObject | None:
        if self.status is ExecutionStatus.COMPLETED and self.failure is None:
            return None
        failure = self.failure or Failure("Failed", "it has failed")
        error: JsonObject = {"type": failure.type, "message": failure.message, "executionId": self.id}
        # Whatever else it is may pass: its author lets the child be started again.
        return {**error, PERMANENT: True} if failure.type == TOO_LARGE else error

    def answer(self) -> JsonObject:
        told: JsonObject = {"executionId": self.id, "status": self.status.value}
        return {**told, "output": self.output, "error": self.error}


def tell_parents(connection: Connection, ended: Sequence[Ended]) -> None:
    """Children have ended: keep what came of them, start those whose turn it is, and answer the visits that
    wait for nothing else. Their parents are locked."""
    if not ended:
        return
    by_id = {each.id: each for each in ended}
    those = C.child_execution_id.in_(sorted(by_id))
    links = connection.execute(select(execution_child).where(those).order_by(C.place)).all()
    if not links:
        return
    connection.execute(delete(execution_child).where(those))
    for link in links:
        child = by_id[link.child_execution_id]
        share_values(connection, child.id, link.execution_id, {one.sha256 for one in asides_in(child.output)})
    _keep_items(connection, [(link, by_id[link.child_execution_id]) for link in links if link.item_key])
    lists = _let_next_start(connection, [link for link in links if link.item_key], by_id)
    single = [(_place(link), by_id[link.child_execution_id]) for link in links if not link.item_key]
    answers = [Answer(*place, child.id, child.answer()) for place, child in single]
    give(connection, answers + answers_of_lists(connection, lists))


def _place(link: Row[Any]) -> Place:
    return Place(link.execution_id, link.node_id, link.visit)


def _keep_items(connection: Connection, items: Sequence[tuple[Row[Any], Ended]]) -> None:
    """The journal of the parent says what came of each item."""
    if not items:
        return
    at, laying = now(connection), Laying(OF_JOURNAL)
    rows = [_item_row(laying, link, child, at) for link, child in items]
    laying.write(connection)
    update_rows(connection, node_execution, rows, KEY)


def _item_row(laying: Laying, link: Row[Any], child: Ended, at: datetime) -> dict[str, object]:
    row: dict[str, object] = {
        **{name: link._mapping[name] for name in KEY},
        "status": (NodeStatus.FAILED if child.error else NodeStatus.COMPLETED).value,
        "error": child.error,
        "completed_at": at,
    }
    return laying.row(link.execution_id, row, {"output": None if child.error else child.output})


def _let_next_start(
    connection: Connection, links: Sequence[Row[Any]], by_id: Mapping[str, Ended]
) -> list[Place]:
    """Who ends makes room for the next; unless it failed and its list is to stop there. Answers the lists."""
    room: dict[Place, int] = defaultdict(int)
    for link in links:
        room[_place(link)] += not link.held
    stopped = {_place(link) for link in links if link.stops and by_id[link.child_execution_id].error}
    for place, count in sorted(room.items()):
        in_turn = place.held_children()
        held = select(C.child_execution_id).where(*in_turn)
        if place in stopped:
            give_up(connection, place, in_turn, STOPPED)
        elif count:
            _start(connection, connection.scalars(held.order_by(C.place).limit(count)).all())
    return sorted(room)


def _start(connection: Connection, ids: Sequence[str]) -> None:
    if not ids:
        return
    those = C.child_execution_id.in_(ids)
    connection.execute(update(execution_child).where(those).values(held=False))
    rows = connection.execute(
        select(C.child_execution_id, E.workflow_id, C.concurrency_key, C.concurrency_limit)
        .join_from(execution_child, workflow_execution, E.id == C.child_execution_id)
        .where(those)
    ).all()
    limits.make_due(connection, [row.child_execution_id for row in rows if row.concurrency_key is None])
    limited = [row for row in rows if row.concurrency_key is not None]
    enter(
        connection,
        [
            limits.Queued(
                row.child_execution_id, row.workflow_id, Limit(row.concurrency_key, row.concurrency_limit)
            )
            for row in limited
        ],
    )


def visits_with_children(connection: Connection, execution_id: str) -> set[tuple[str, int]]:
    """The visits of an execution that wait for children."""
    opened = select(C.node_id, C.visit).where(C.execution_id == execution_id).distinct()
    return {(row.node_id, row.visit) for row in connection.execute(opened)}


def close_children(connection: Connection, parent_id: str, closing: Closing, locked: Collection[str]) -> None:
    """Nobody waits for them any more: those that have not begun are over, the others, which are `locked`, are
    told to stop. Raises `LookAgain`."""
    for node, visit in closing.visits:
        place = Place(parent_id, node, visit)
        if connection.execute(select(C.place).where(*place.children()).limit(1)).first() is None:
            continue
        give_up(connection, place, place.held_children(), no_longer_wanted(closing))
        children = select(C.child_execution_id).where(*place.children(), C.place > PLACE_OF_LIST)
        _write_off(connection, place, connection.scalars(children).all(), no_longer_wanted(closing))
        live = select(E.id).where(E.id.in_(children), E.status.not_in(FINAL)).order_by(E.id)
        told = connection.scalars(live).all()
        if not set(told) <= set(locked):
            raise LookAgain("a child has begun in between")
        connection.execute(delete(execution_child).where(*place.children()))
        payload: JsonObject = {"reason": closing.reason, "compensate": closing.compensate}
        reach(connection, [(child, SignalKind.CANCEL, payload) for child in told])


# --- in vain -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of items whose children have not begun and never will."""

    status: NodeStatus
    reason: str

    @property
    def error(self) -> JsonObject | None:
        return {"type": "Cancelled", "message": self.reason} if self.status is NodeStatus.FAILED else None


STOPPED = Verdict(NodeStatus.SKIPPED, "not started: another item failed")


def no_longer_wanted(closing: Closing) -> Verdict:
    return Verdict(NodeStatus.FAILED, closing.reason)


def give_up(
    connection: Connection, place: Place, which: Sequence[ColumnElement[bool]], verdict: Verdict
) -> None:
    """End the children of a visit whose turn has not come, and say in the parent's journal what became of
    their items."""
    while give_up_some(connection, place, which, verdict) == GIVEN_UP_AT_ONCE:
        pass


def give_up_some(
    connection: Connection, place: Place, which: Sequence[ColumnElement[bool]], verdict: Verdict
) -> int:
    """The same for so many of them, found by their keys: how many there are altogether no database guesses.
    How many they were."""
    chosen = select(C.child_execution_id).where(*which).order_by(C.place).limit(GIVEN_UP_AT_ONCE)
    ids = connection.scalars(chosen).all()
    _write_off(connection, place, ids, verdict)
    if ids:
        connection.execute(delete(execution_child).where(C.child_execution_id.in_(ids)))
    return len(ids)


def _write_off(connection: Connection, place: Place, ids: Sequence[str], verdict: Verdict) -> None:
    """Say so of the items of these children, and end those that have not begun."""
    if not ids:
        return
    links = select(C.item_key).where(C.child_execution_id.in_(ids), C.item_key != "")
    keys = connection.scalars(links).all()
    over = {
        "status": verdict.status.value,
        "error": verdict.error,
        "output": None,
        "completed_at": now(connection),
    }
    rows = update(node_execution).where(
        J.execution_id == place.execution_id,
        J.node_id == place.node,
        J.visit == place.visit,
        J.item_key.in_(keys),
        J.status == WAITING,
    )
    if keys:
        connection.execute(rows.values(over))
    limits.end_queued(connection, ids, verdict.reason)


# --- by hand -----------------------------------------------------------------------------------------


def cancel_queued(connection: Connection, cancelled: Mapping[str, JsonObject]) -> None:
    """End executions that are queued, by their ids, for the reasons that are given. They are locked, and so
    is what they wait for."""
    ended = []
    for execution_id, payload in sorted(cancelled.items()):
        failure = Failure("Cancelled", str(payload.get("reason") or "cancelled by hand"))
        limits.end_queued(connection, [execution_id], failure.message)
        ended.append(Ended(execution_id, ExecutionStatus.CANCELLED, None, failure))
    tell_parents(connection, ended)
