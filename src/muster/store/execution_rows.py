"""An execution about to be written, as a row."""

from datetime import datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import Row

from muster.engine.owned import FIRST_FENCE, Checkpoint, NewExecution
from muster.engine.state import ExecutionStatus
from muster.model.json import JsonObject
from muster.store.large_values import Laying

Moment: TypeAlias = datetime | timedelta
# Whose times may be told by how far from now they are; and of those that have ended.
FROM_NOW = ("lease_until", "resume_at", "updated_at")
FROM_NOW_AT_END = (*FROM_NOW, "completed_at")


def new_row(laying: Laying, new: NewExecution, at: Moment, until: Moment | None = None) -> dict[str, object]:
    """Running, and owned `until` then; without an owner, due at once for anyone. Both times are moments, or
    both are how far from now they are."""
    row: dict[str, object] = {
        "id": new.id,
        "workflow_id": new.workflow_id,
        "workflow_version_id": new.version_id,
        "trigger_id": new.trigger_id,
        "status": ExecutionStatus.RUNNING.value,
        "idempotency_key": new.once.key if new.once else None,
        "owner": new.owner,
        "lease_until": until if new.owner else None,
        "resume_at": None if new.owner else at,
        # Without an owner it has not begun: the first who takes it up has the first fence.
        "fence": FIRST_FENCE if new.owner else FIRST_FENCE - 1,
        "parent_execution_id": new.parent_id,
        "tags": list(new.tags),
        "trace_parent": new.trace,
        "institute_id": new.institute_id,
        "started_at": new.started_at,
        "updated_at": at,
    }
    laying.row(new.id, row, {"context": new.context})
    # The same, for starting anew: its places are kept by themselves, since the context's change.
    return {**row, "given": row["context"], "given_aside": row["aside"]}


def ended_row(laying: Laying, new: NewExecution, at: Moment) -> dict[str, object]:
    """One that had ended before it was written, and was driven by who writes it."""
    assert new.ended is not None, "asked only of those that have"
    return {
        **new_row(laying, new, at, at),
        **checkpoint_row(laying, new.id, FIRST_FENCE, new.ended.checkpoint, at),
    }


def checkpoint_row(
    laying: Laying,
    execution_id: str,
    fence: int,
    checkpoint: Checkpoint,
    at: Moment,
    reached: bool = False,
) -> dict[str, object]:
    """With its checkpoint an owner lets go: no owner, no lease, and a due time if it has one. What something
    has `reached` meanwhile is due at once."""
    at_once = reached or checkpoint.status is ExecutionStatus.RUNNING
    failure = checkpoint.failure
    row: dict[str, object] = {
        "id": execution_id,
        "status": checkpoint.status.value,
        "current_node_id": checkpoint.current_node,
        "resume_at": at if at_once and not checkpoint.is_final else checkpoint.resume_at,
        "checkpoint_seq": checkpoint.seq,
        "owner": None,
        "lease_until": None,
        "takeovers": 0,
        "untouched_fence": fence + 1 if checkpoint.handed_on else None,
        "error_type": failure.type if failure else None,
        "error_message": failure.message if failure else None,
        "completed_at": at if checkpoint.is_final else None,
        "updated_at": at,
    }
    columns: JsonObject = {
        "context": checkpoint.context,
        "output": checkpoint.output,
        "state": checkpoint.state,
    }
    return laying.row(execution_id, row, columns)


def is_where_it_began(row: Row[Any], owner: str | None) -> bool:
    """Whether an execution is in the hands of who started it, and never left them: whoever takes one up that
    was parked, queued or abandoned has a later fence, or resumes it."""
    return row.owner == owner and row.fence == FIRST_FENCE and row.resumed_at is None
