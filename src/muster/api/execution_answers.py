"""Executions and their nodes as callers are told of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from muster.api.execution_shapes import (
    Ended,
    ExecutionError,
    ExecutionItem,
    ExecutionWhole,
    NodeEvent,
    NodeItem,
    WaitItem,
)
from muster.api.wait_answers import explained, wait_item
from muster.api.wait_shapes import EventWaitItem
from muster.definitions.diagram import NodeState
from muster.engine.control import Control, Outcome
from muster.engine.following import Following
from muster.engine.journal import SignalKind
from muster.engine.state import FINAL, ExecutionStatus, Phase, Token
from muster.engine.tracing import trace_of
from muster.model.aside import linked
from muster.model.execution import WAITS, ExecutionDetail, ExecutionRow, NodeRow, NodeStatus
from muster.model.json import Json
from muster.nodes.event_waiting import WaitLists

UNDER_WAY = WAITS | {NodeStatus.RUNNING, NodeStatus.PAUSED, NodeStatus.RETRYING}
ASKED = {SignalKind.HOLD: "pause", SignalKind.RELEASE: "resume", SignalKind.CANCEL: "cancel"}
HELD = "It was paused by hand, and goes on only when it is resumed, whatever comes or comes due."
KINDS = {
    "APPROVAL": "approval",
    "EXTERNAL_TASK": "task",
    "SUB_WORKFLOW": "sub_workflow",
    "WAIT_EVENTS": "events",
    "KAFKA_COMMAND": "reply",
}


async def whole_of(
    control: Control, following: Following, opened: WaitLists, found: ExecutionDetail, now: datetime
) -> ExecutionWhole:
    types, visits = await control.node_types(found), await visits_of(following, found)
    item = item_of(replace(found.row, current_node_id=_current(found.row, visits)))
    waits = await _with_events(opened, found, _waits(control, found, types), now)
    held = found.row.status not in FINAL and found.state.get("held") is True
    return ExecutionWhole(
        **item.model_dump(),
        trace_id=trace_of(found.row.id, found.trace).trace_id,
        given=linked(found.row.id, found.given),
        context=linked(found.row.id, found.context),
        output=linked(found.row.id, found.output),
        nodes=[node_of(found.row.id, row, types) for row in visits],
        more_nodes=found.more_nodes,
        pending=[ASKED[SignalKind(kind)] for kind in found.asked],
        held=held,
        waits=[_while_held(wait) for wait in waits] if held else waits,
    )


def _while_held(wait: WaitItem) -> WaitItem:
    return wait.model_copy(update={"explanation": f"{HELD} {wait.explanation or ''}".strip()})


async def _with_events(
    lists: WaitLists, found: ExecutionDetail, waits: list[WaitItem], now: datetime
) -> list[WaitItem]:
    """The waits, and of those for events what has come and what is needed."""
    if not any(wait.kind == KINDS["WAIT_EVENTS"] for wait in waits):
        return waits
    opened = await lists.of_execution(found.row.id)
    known = {each.correlation_id: wait_item(each, now) for each in opened}
    explanations = {each.correlation_id: explained(each) for each in opened}
    return [
        wait.model_copy(update={**_of_events(known[name]), "explanation": explanations[name]})
        if (name := wait.correlation_id or "") in known
        else wait
        for wait in waits
    ]


def _of_events(item: EventWaitItem) -> dict[str, object]:
    shared = set(WaitItem.model_fields) & set(EventWaitItem.model_fields)
    return {name: getattr(item, name) for name in shared}


def _current(row: ExecutionRow, visits: Sequence[NodeRow]) -> str | None:
    """Where it is: at what runs, which its row learns with the next checkpoint, or where its row says."""
    runs = (visit.node_id for visit in visits if visit.status is NodeStatus.RUNNING)
    return next(runs, row.current_node_id)


def _waits(control: Control, found: ExecutionDetail, types: dict[str, str]) -> list[WaitItem]:
    """What it waits for: by its last checkpoint, or, while it is under way beside, by its journal."""
    tokens = control.parked(found)
    if found.row.status not in (ExecutionStatus.RUNNING, ExecutionStatus.RESUMING):
        return [_wait(types, token.node, token.phase, _named(found, token), token.due) for token in tokens]
    waiting = [row for row in found.nodes if row.completed_at is None and row.status in WAITS]
    return [_wait(types, row.node_id, "waiting", _correlation(row), row.due_at) for row in waiting]


def _named(found: ExecutionDetail, token: Token) -> str:
    """A doubt has opened nothing, so it is named by what is in doubt."""
    if token.phase is Phase.DOUBT:
        return f"{found.row.id}:{token.node}:{token.visit}"
    return token.correlation


def _wait(
    types: dict[str, str], node_id: str, phase: str, correlation: str, due: datetime | None
) -> WaitItem:
    named = correlation or None
    kind = KINDS.get(types.get(node_id, "").upper(), phase)
    return WaitItem(id=named, node_id=node_id, kind=kind, correlation_id=named, expires_at=due)


def _correlation(row: NodeRow) -> str:
    found = row.output.get("correlationId") if isinstance(row.output, dict) else None
    return found if isinstance(found, str) else ""


async def visits_of(following: Following, found: ExecutionDetail) -> Sequence[NodeRow]:
    """The visits that have settled, and those that are under way: as they are now, which the journal does not
    say of what was undone, or was under way when the execution ended."""
    owned = found.row.status in (ExecutionStatus.RUNNING, ExecutionStatus.RESUMING)
    settled = [as_it_is(row, found.row.status, found.undone) for row in found.nodes]
    return [*settled, *await following.running(found.row, owned)]


def as_it_is(row: NodeRow, status: str, undone: Collection[tuple[str, int]] = ()) -> NodeRow:
    """A row of the journal of an execution with this status."""
    if row.status is NodeStatus.COMPLETED and not row.item_key and (row.node_id, row.visit) in undone:
        return replace(row, status=NodeStatus.COMPENSATED)
    if status in FINAL and row.status in UNDER_WAY:
        return replace(row, status=NodeStatus.CANCELLED)
    return row


def states_of(visits: Sequence[NodeRow]) -> dict[str, NodeState]:
    """How each node fares: by its last visit."""
    states: dict[str, NodeState] = {}
    for row in visits:
        if row.node_id not in states or row.visit >= states[row.node_id].visits:
            took = (row.completed_at - row.started_at).total_seconds() if row.completed_at else None
            due = None if row.completed_at else row.due_at
            states[row.node_id] = NodeState(row.status, row.visit, row.attempt, took, due)
    return states


def item_of(row: ExecutionRow) -> ExecutionItem:
    return ExecutionItem(
        id=row.id,
        workflow_id=row.workflow_id,
        key=row.key,
        version=row.version,
        status=row.status,
        tracking_status=_tracking(row.status),
        trigger_id=row.trigger_id,
        idempotency_key=row.idempotency_key,
        parent_execution_id=row.parent_id,
        current_node_id=row.current_node_id,
        resume_at=row.resume_at,
        resumed_by=row.resumed_by,
        error=error_of(row),
        tags=list(row.tags),
        institute_id=row.institute_id,
        started_at=row.started_at,
        completed_at=row.completed_at,
    )


def _tracking(status: str) -> str:
    """Processing until it ends; one that was cancelled counts as failed."""
    if status not in FINAL:
        return "PROCESSING"
    return "COMPLETED" if status == ExecutionStatus.COMPLETED else "FAILED"


def error_of(row: ExecutionRow) -> ExecutionError | None:
    if row.error_type is None:
        return None
    return ExecutionError(type=row.error_type, message=row.error_message or "", node_id=row.current_node_id)


def ended_of(row: ExecutionRow, output: Json) -> Ended:
    return Ended(execution_id=row.id, status=row.status, output=output, error=error_of(row))


def outcome_of(execution_id: str, came: Outcome) -> Ended:
    failure = came.failure
    error = None
    if failure is not None:
        error = ExecutionError(type=failure.type, message=failure.message, node_id=came.node)
    status = ExecutionStatus(came.status)
    return Ended(execution_id=execution_id, status=status, output=came.output, error=error)


def node_of(execution_id: str, row: NodeRow, types: Mapping[str, str]) -> NodeItem:
    return NodeItem(
        **node_event_of(row, types).model_dump(),
        output=linked(execution_id, row.output),
        changes=linked(execution_id, row.changes),
    )


def node_event_of(row: NodeRow, types: Mapping[str, str]) -> NodeEvent:
    return NodeEvent(
        node_id=row.node_id,
        type=types.get(row.node_id, ""),
        visit=row.visit,
        item_key=row.item_key,
        status=row.status,
        attempt=row.attempt,
        started_at=row.started_at,
        completed_at=row.completed_at,
        due_at=row.due_at,
        error=row.error,
        warnings=list(row.warnings),
    )
