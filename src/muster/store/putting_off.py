"""Letting go, for a while, of executions that their new owner can do nothing with."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Connection, delete, tuple_, update

from muster.store.claims import is_untouched
from muster.store.dialect import lock_rows, now, update_rows
from muster.store.tables import execution_takeover, workflow_execution

E = workflow_execution.c
T = execution_takeover.c


def put_off(connection: Connection, fences: Mapping[str, int], pause: timedelta, uncount: bool) -> None:
    """Executions, by their ids with the fences they were claimed under, are due again after a pause. The
    fence moves on, so it happens once, and what somebody else has claimed since is left alone. What was
    untouched still is, for whoever claims it next."""
    locked = lock_rows(connection, workflow_execution, "id", list(fences), ("id", "fence", "untouched_fence"))
    held = [row for row in locked if row.fence == fences[row.id]]
    if not held:
        return
    mine = [row.id for row in held]
    again = now(connection) + pause
    free = {"owner": None, "lease_until": None, "resume_at": again, "fence": E.fence + 1}
    less = {"takeovers": E.takeovers - 1} if uncount else {}
    connection.execute(update(workflow_execution).where(E.id.in_(mine)).values(**free, **less))
    untouched = [{"id": row.id, "untouched_fence": row.fence + 2} for row in held if is_untouched(row)]
    update_rows(connection, workflow_execution, untouched, ("id",))
    noted = tuple_(T.execution_id, T.fence).in_([(each, fences[each]) for each in mine])
    connection.execute(delete(execution_takeover).where(noted))
