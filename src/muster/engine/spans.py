"""The spans of executions: one for each, and below it one for each visit of a node."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from muster.engine.journal import COMPENSATION, JournalRow
from muster.engine.live import Live
from muster.engine.owned import Checkpoint, NewExecution
from muster.engine.program import Program
from muster.engine.state import ExecutionStatus
from muster.engine.tracing import Span, SpanKind, Trace, Tracer, span_id, trace_of
from muster.kit.clock import Clock
from muster.model.execution import NodeStatus
from muster.model.node_type import NodeKind

OVER = frozenset({NodeStatus.COMPLETED, NodeStatus.SKIPPED, NodeStatus.FAILED, NodeStatus.COMPENSATED})


class SpanObserver:
    """An `engine.observer.Observer` that tells a tracer. Spans are told when they are over: that of a visit
    has all attempts and all waiting in it, that of an execution all that was between its nodes."""

    def __init__(self, tracer: Tracer, clock: Clock) -> None:
        self._tracer, self._clock = tracer, clock

    def started(self, new: NewExecution, program: Program) -> None:
        return

    def skipped(self, new: NewExecution, program: Program) -> None:
        return

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        trace = trace_of(live.facts.id, live.facts.trace)
        if not self._tracer.records(trace):
            return
        for row in rows:
            if row.completed_at is not None and row.status in OVER and row.item_key in ("", COMPENSATION):
                self._tracer.ended(_visit(live, trace, row, row.completed_at))
        if checkpoint is not None and checkpoint.is_final:
            now = self._clock.now()
            for (node, visit), began in live.began.items():
                given_up = JournalRow(node, visit, "", 0, 1, NodeStatus.CANCELLED, began)
                self._tracer.ended(_visit(live, trace, given_up, now))
            self._tracer.ended(_execution(live, trace, checkpoint, now))

    def taken(self, live: Live, late: timedelta | None) -> None:
        return

    def lost(self, live: Live) -> None:
        return


def _execution(live: Live, trace: Trace, checkpoint: Checkpoint, now: datetime) -> Span:
    facts, failed = live.facts, checkpoint.status is ExecutionStatus.FAILED
    return Span(
        trace.trace_id,
        span_id(facts.id),
        trace.parent.span_id if trace.parent else None,
        live.program.workflow or facts.workflow_id,
        SpanKind.INTERNAL,
        facts.started_at,
        now,
        {**_known(live), "muster.execution.status": checkpoint.status.value},
        (checkpoint.failure.type if checkpoint.failure else "Failed") if failed else None,
    )


def _visit(live: Live, trace: Trace, row: JournalRow, ended: datetime) -> Span:
    facts, step = live.facts, live.program.steps[row.node]
    failed = row.status is NodeStatus.FAILED
    undoes = row.item_key == COMPENSATION
    return Span(
        trace.trace_id,
        span_id(facts.id, row.node, row.visit, row.item_key),
        span_id(facts.id),
        f"undo {row.node}" if undoes else row.node,
        SpanKind.CLIENT if step.kind is NodeKind.EFFECT or undoes else SpanKind.INTERNAL,
        row.started_at,
        ended,
        {
            **_known(live),
            "muster.node.id": row.node,
            "muster.node.type": step.type,
            "muster.node.visit": row.visit,
            "muster.node.attempt": row.attempt,
            "muster.node.status": row.status.value,
        },
        str((row.error or {}).get("type", "Failed")) if failed else None,
    )


def _known(live: Live) -> dict[str, str | int]:
    facts = live.facts
    known: dict[str, str | int] = {
        "muster.execution.id": facts.id,
        "muster.workflow.id": facts.workflow_id,
        "muster.workflow.key": live.program.workflow,
    }
    return {**known, "muster.institute.id": facts.institute_id} if facts.institute_id else known
