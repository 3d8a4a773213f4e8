"""What an attempt came to: a row of the journal, and the event that it is."""

from datetime import datetime
from functools import partial
from typing import assert_never

from muster.engine.attempt import Settled
from muster.engine.handlers import Done, Suspend
from muster.engine.journal import COMPENSATION, JournalRow
from muster.engine.keeping import while_waiting
from muster.engine.live import Live
from muster.engine.state import (
    Completed,
    Event,
    Failed,
    Failure,
    Run,
    Suspended,
    Undo,
    Undone,
)
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind


def record(live: Live, settled: Settled, now: datetime, chance: float) -> tuple[JournalRow, Event]:
    """The journal's row of an attempt, and the event that it is."""
    live.seq += 1
    todo = settled.todo
    if isinstance(todo, Undo):
        return _undone(live, todo, settled, now)
    return _run(live, todo, settled, now, chance)


def _undone(live: Live, undo: Undo, settled: Settled, now: datetime) -> tuple[JournalRow, Event]:
    failure = settled.outcome if isinstance(settled.outcome, Failure) else None
    status = NodeStatus.FAILED if failure else NodeStatus.COMPENSATED
    row = JournalRow(
        undo.node,
        undo.visit,
        COMPENSATION,
        live.seq,
        1,
        status,
        settled.started_at,
        now,
        error=_error(failure),
    )
    return row, Undone(undo.node, undo.visit, failure)


def _run(live: Live, run: Run, settled: Settled, now: datetime, chance: float) -> tuple[JournalRow, Event]:
    node, visit, outcome = run.node, run.visit, settled.outcome
    # What was parked or tried before began back then.
    began = live.began.pop((node, visit), settled.started_at)
    row = partial(JournalRow, node, visit, "", live.seq, run.attempt)
    match outcome:
        case Done(output, changes, warnings, _, skipped):
            live.failures.pop((node, visit), None)
            kept = None if changes == output else changes
            status = NodeStatus.SKIPPED if skipped else NodeStatus.COMPLETED
            done = row(status, began, now, output, kept, None, None, warnings)
            return done, Completed(node, visit, output, changes, skipped)
        case Suspend():
            live.began[node, visit] = began
            deadline = _deadline(live, run, settled)
            due = min((at for at in (outcome.due, deadline) if at), default=None)
            told = while_waiting(outcome.output, outcome.correlation, deadline)
            parked = row(outcome.status, began, output=told, due=due, error=outcome.error)
            return parked, Suspended(node, visit, outcome.phase, due, outcome.correlation, deadline)
        case Failure():
            delay = live.program.policies[node].delay_after(run.attempt, outcome, chance)
            error = live.fail(node, visit, run.attempt, outcome, now)
            status, due = NodeStatus.FAILED, None
            if delay is not None:
                live.began[node, visit] = began
                status, due = NodeStatus.RETRYING, now + delay
            told = while_waiting(settled.partial, outcome.keeps_open if due else "", None)
            failed = row(status, began, now, told, error=error, due=due)
            return failed, Failed(node, visit, outcome, chance)
        case _:
            assert_never(outcome)


def _deadline(live: Live, run: Run, settled: Settled) -> datetime | None:
    """When the `timeout` of a node that waits is over: counted from when this attempt began, however often it
    parks. (What reaches outside has had its time when it is in doubt.)"""
    step = live.program.steps[run.node]
    if step.timeout is None or step.kind is not NodeKind.WAIT:
        return None
    token = live.token(run.node, run.visit) if run.woken else None
    return token.deadline if token and token.deadline else settled.started_at + step.timeout


def _error(failure: Failure | None) -> JsonObject | None:
    return {"type": failure.type, "message": failure.message} if failure else None
