"""Alerts whose missed event has come, where the rules are applied elsewhere: looked for in what runs expect.

Whoever applies the rules resolves an alert in the transaction in which the event arrives. A stage that is
told of alerts only hears of no arrivals; it sees them, where runs are kept in its own database.
"""

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, or_, select

from muster.model.watching import AlertReason, AlertState, ExpectationStatus
from muster.store.database import Database
from muster.store.dialect import lock_rows, now
from muster.store.tables import alert, expectation, workflow_run
from muster.store.watch_alerts import write_alerts
from muster.watch.alerts import Settled, Step

A = alert.c
FIRED = ExpectationStatus.FIRED.value
_PAGE = (
    select(A.id, A.dedupe_key)
    .where(
        A.id > bindparam("after"),
        A.state.in_([state.value for state in AlertState if state is not AlertState.RESOLVED]),
        A.reason == AlertReason.EXPECTED_MISSED.value,
    )
    .order_by(A.id)
    .limit(bindparam("most"))
)


def _has_come() -> ColumnElement[bool]:
    """Whether something that was missed has come, with which nothing of its run was missing any more at that
    node; and nothing was missed there since. (What nobody counts on any more is not missing.)"""
    came, came_to = expectation.alias("came"), workflow_run.alias("came_to")
    lacks, lacks_in = expectation.alias("lacks"), workflow_run.alias("lacks_in")
    is_missing = and_(lacks.c.workflow_run_id == came.c.workflow_run_id, lacks.c.abandoned_at.is_(None))
    missing = exists().where(
        lacks_in.c.workflow_version_id == A.workflow_version_id,
        lacks_in.c.correlation_key == A.correlation_key,
        lacks.c.workflow_run_id == lacks_in.c.id,
        lacks.c.to_node_key == A.node_key,
        lacks.c.status == FIRED,
        or_(is_missing, lacks.c.fired_at > came.c.cleared_at),
    )
    return exists().where(
        came_to.c.workflow_version_id == A.workflow_version_id,
        came_to.c.correlation_key == A.correlation_key,
        came.c.workflow_run_id == came_to.c.id,
        came.c.to_node_key == A.node_key,
        came.c.status == ExpectationStatus.CLEARED.value,
        came.c.fired_at.is_not(None),
        ~missing,
    )


_COME = select(A.dedupe_key).where(A.id.in_(bindparam("ids", expanding=True)), _has_come())


class SettledAlerts:
    """Goes round all that are not resolved, so many at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._after = 0

    async def look(self, most: int) -> bool:
        """Resolve those of the next so many whose event has come; whether there are more in this round."""
        last = await self._database.write(lambda connection: self._look(connection, most))
        self._after = last or 0
        return last is not None

    def _look(self, connection: Connection, most: int) -> int | None:
        page = connection.execute(_PAGE, {"after": self._after, "most": most}).all()
        if not page:
            return None
        # Under their locks: one that is triggered meanwhile is triggered before this looks, or after.
        lock_rows(connection, alert, "dedupe_key", [row.dedupe_key for row in page], ("id",))
        come = connection.scalars(_COME, {"ids": [row.id for row in page]}).all()
        at = now(connection)
        steps: dict[str, list[Step]] = {key: [Settled(key, at)] for key in come}
        write_alerts(connection, steps)
        return page[-1].id if len(page) == most else None
