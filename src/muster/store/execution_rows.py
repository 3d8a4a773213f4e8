"""An execution about to be written, as a row."""

from datetime import datetime

from muster.engine.ports import FIRST_FENCE, NewExecution
from muster.engine.state import ExecutionStatus


def new_row(new: NewExecution, at: datetime, until: datetime | None = None) -> dict[str, object]:
    """Running, and owned `until` then; without an owner, due at once for anyone."""
    return {
        "id": new.id,
        "workflow_id": new.workflow_id,
        "workflow_version_id": new.version_id,
        "trigger_id": new.trigger_id,
        "status": ExecutionStatus.RUNNING.value,
        "idempotency_key": new.idempotency_key,
        "given": new.context,
        "context": new.context,
        "owner": new.owner,
        "lease_until": until if new.owner else None,
        "resume_at": None if new.owner else at,
        "fence": FIRST_FENCE,
        "parent_execution_id": new.parent_id,
        "tags": list(new.tags),
        "institute_id": new.institute_id,
        "started_at": new.started_at,
        "updated_at": at,
    }
