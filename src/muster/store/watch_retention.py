"""What was watched long ago goes, so many rows at a time. Nothing goes that is not over: a run stays while
something of it is expected, or one of its alerts is not resolved.

Counts stay. What they were made of is gone before the horizon that is kept here, so they are held against
what happened from there on only.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, select, update

from muster.model.watching import AlertState, ExpectationStatus
from muster.store.database import Database
from muster.store.dialect import insert_new, now
from muster.store.expired import ExpiredRows
from muster.store.tables import (
    alert,
    event_occurrence,
    event_raw,
    expectation,
    stage_group,
    watch_horizon,
    workflow_run,
)

A = alert.c
E = expectation.c
H = watch_horizon.c
O = event_occurrence.c  # noqa: E741 (it is what it is called in every statement here)
R = workflow_run.c
W = event_raw.c
EVENTS, RUNS = "events", "runs"
# Of one run there may be far more than of the others.
MOST_ROWS = 10_000

# What a run still waits for, or has waited for in vain and somebody may still bring.
IS_EXPECTED = exists().where(
    E.workflow_run_id == R.id, E.status != ExpectationStatus.CLEARED.value, E.abandoned_at.is_(None)
)
_IS_ALERTED = exists().where(A.workflow_run_id == R.id, A.state != AlertState.RESOLVED.value)


def old_events(database: Database, kept_for: timedelta) -> ExpiredRows:
    """Events that were received long enough ago."""
    return ExpiredRows(database, W.id, W.received_at, kept_for, partial(_move_horizon, name=EVENTS))


class OldRuns:
    """`engine.housekeeping.Expiring`: runs that were over long enough ago, with their events and
    expectations."""

    def __init__(self, database: Database, kept_for: timedelta) -> None:
        self._database, self._kept_for = database, kept_for

    async def forget_expired(self, most: int) -> int:
        return await self._database.write(lambda connection: self._forget(connection, most))

    def _forget(self, connection: Connection, most: int) -> int:
        before = now(connection) - self._kept_for
        old = and_(R.finished_at < before, R.updated_at < before, ~IS_EXPECTED, ~_IS_ALERTED)
        ids = held_runs(connection, old, most)
        if not ids:
            return 0
        _move_horizon(connection, before, RUNS)
        parts = select(O.id).where(O.workflow_run_id.in_(ids)).limit(MOST_ROWS)
        events = sorted(connection.scalars(parts))
        connection.execute(delete(event_occurrence).where(O.id.in_(events)))
        if len(events) == MOST_ROWS:
            return most  # the rest of them before the runs themselves
        connection.execute(delete(expectation).where(E.workflow_run_id.in_(ids)))
        connection.execute(delete(workflow_run).where(R.id.in_(ids)))
        return len(ids)


def held_runs(connection: Connection, chosen: ColumnElement[bool], most: int) -> Sequence[int]:
    """The ids of so many runs at most that are chosen, and that nobody else holds. Looked for by their
    versions: that is how they are found."""
    found: list[int] = []
    versions = select(stage_group.c.workflow_version_id).distinct()
    for version_id in sorted(connection.scalars(versions)):
        if len(found) >= most:
            break
        of_version = select(R.id).where(R.workflow_version_id == version_id, chosen).order_by(R.finished_at)
        found += connection.scalars(of_version.limit(most - len(found)))
    if not found:
        return []
    held = select(R.id).where(R.id.in_(found), chosen).order_by(R.id).with_for_update(skip_locked=True)
    return list(connection.scalars(held))


def horizon_of(connection: Connection, *names: str) -> datetime | None:
    """Since when all of these (runs, if none is named) are there; None: nothing has gone yet."""
    wanted = select(H.at).where(H.name.in_(names or (RUNS,)))
    return max(connection.scalars(wanted), default=None)


def _move_horizon(connection: Connection, at: datetime, name: str) -> None:
    if not insert_new(connection, watch_horizon, [{"name": name, "at": at}], ("name",)):
        connection.execute(update(watch_horizon).where(H.name == name, H.at < at).values(at=at))
