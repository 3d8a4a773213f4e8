"""What the wallboard is made of."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Select, func, select

from muster.model.watching import AlertState, Severity, worst
from muster.model.workflow import WorkflowKind, WorkflowStatus
from muster.store import stage_counts
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.tables import (
    alert,
    expectation,
    stage_group,
    workflow,
    workflow_node,
    workflow_run,
    workflow_version,
)
from muster.store.watch_due import MISSED, PENDING
from muster.watch.boards import Reading, Series, Shown
from muster.watch.rollups import spans

# So many are looked at every time; who waits longer than all of these is looked for now and then.
SOONEST = 2_000
LOOK_FURTHER = timedelta(seconds=10)
# What has been missing for longer, nobody counts on: there may be any number of those.
LONGEST_OVERDUE = timedelta(days=7)
Due: TypeAlias = Mapping[Series, datetime]
SHOWN = (AlertState.OPEN.value, AlertState.ACK.value)


class BoardRepository:
    """`watch.boards.BoardReader` on a database."""

    def __init__(self, database: Database, soonest: int = SOONEST) -> None:
        self._database, self._soonest = database, soonest
        self._later: tuple[datetime, Due] | None = None

    async def read(self, institute_id: str | None, since: datetime, recent: datetime) -> Reading:
        def work(connection: Connection) -> Reading:
            workflows = _shown(connection, institute_id)
            versions = [version for each in workflows for version in each.versions]
            everything = stage_counts.total(connection, spans(None, None), versions)
            in_flight = {series: counts.in_flight for series, counts in everything.items()}
            return Reading(
                workflows=workflows,
                groups=_groups(connection, versions),
                in_flight=in_flight,
                since=stage_counts.total(connection, spans(since, None), versions),
                recent=stage_counts.minutes(connection, recent, versions),
                alerts=_alerts(connection),
                due=self._due(connection, None if institute_id is None else versions, in_flight),
                overdue=_overdue(connection, recent - LONGEST_OVERDUE),
            )

        return await self._database.read(work)

    def _due(
        self, connection: Connection, versions: Sequence[int] | None, in_flight: Mapping[Series, int]
    ) -> Due:
        """What each series expects next."""
        rows = connection.execute(_soonest(PENDING, versions, self._soonest)).all()
        found = {Series(*row[:3]): row[3] for row in rows}
        waiting = {series for series, count in in_flight.items() if count > 0}
        if sum(row[5] for row in rows) < self._soonest or waiting <= found.keys():
            return found
        until = max(row[4] for row in rows)
        # What was due sooner when it was looked for, and is not among these, has come since.
        later = {series: due for series, due in self._looked_further(connection).items() if due >= until}
        return {**later, **found}

    def _looked_further(self, connection: Connection) -> Due:
        """The same, of all that is pending: as it was a few seconds ago, since that takes long."""
        at, known = now(connection), self._later
        if known is None or not timedelta(0) <= at - known[0] < LOOK_FURTHER:
            rows = connection.execute(_soonest(PENDING, None, None))
            self._later = known = at, {Series(*row[:3]): row[3] for row in rows}
        return known[1]


def _shown(connection: Connection, institute_id: str | None) -> Sequence[Shown]:
    """Active watched workflows, and what Muster runs and watches."""
    counted = select(stage_group.c.workflow_version_id)
    chosen = (
        select(workflow.c.id, workflow.c.key, workflow.c.name, workflow.c.active_version_id)
        .where(
            workflow.c.status == WorkflowStatus.ACTIVE.value,
            workflow.c.active_version_id.is_not(None),
            (workflow.c.kind == WorkflowKind.WATCHED.value)
            | workflow.c.id.in_(
                select(workflow_version.c.workflow_id).where(workflow_version.c.id.in_(counted))
            ),
        )
        .order_by(workflow.c.key)
    )
    if institute_id is not None:
        chosen = chosen.where(workflow.c.institute_id == institute_id)
    rows = connection.execute(chosen).all()
    versions = _versions(connection, [row.id for row in rows])
    nodes = _nodes(connection, [row.active_version_id for row in rows])
    return [
        Shown(
            row.id,
            row.key,
            row.name,
            row.active_version_id,
            tuple(versions.get(row.id, ())),
            tuple(nodes.get(row.active_version_id, ())),
        )
        for row in rows
    ]


def _versions(connection: Connection, workflow_ids: Sequence[str]) -> dict[str, list[int]]:
    v = workflow_version.c
    found: dict[str, list[int]] = {}
    for row in connection.execute(select(v.workflow_id, v.id).where(v.workflow_id.in_(workflow_ids))):
        found.setdefault(row.workflow_id, []).append(row.id)
    return found


def _nodes(connection: Connection, version_ids: Sequence[int]) -> dict[int, list[str]]:
    n = workflow_node.c
    found: dict[int, list[str]] = {}
    chosen = select(n.workflow_version_id, n.node_key).where(n.workflow_version_id.in_(version_ids))
    for row in connection.execute(chosen.order_by(n.workflow_version_id, n.node_order, n.id)):
        found.setdefault(row.workflow_version_id, []).append(row.node_key)
    return found


def _groups(connection: Connection, versions: Sequence[int]) -> dict[tuple[int, str], Any]:
    g = stage_group.c
    chosen = select(g.workflow_version_id, g.group_dim_hash, g.group_dims)
    rows = connection.execute(chosen.where(g.workflow_version_id.in_(versions)))
    return {(row[0], row[1]): row[2] for row in rows}


def _alerts(connection: Connection) -> dict[Series, Severity]:
    a = alert.c
    columns = (a.workflow_version_id, a.group_dim_hash, a.node_key, a.severity)
    found: dict[Series, Severity] = {}
    for row in connection.execute(select(*columns).where(a.state.in_(SHOWN)).group_by(*columns)):
        series = Series(*row[:3])
        found[series] = worst(found.get(series, Severity.GREEN), Severity(row.severity))
    return found


def _overdue(connection: Connection, after: datetime) -> Due:
    """Since when what each series misses for longest was due, of what has been missing for longest."""
    rows = connection.execute(_soonest(MISSED & (expectation.c.due_at > after), None, SOONEST))
    return {Series(*row[:3]): row[3] for row in rows}


def _soonest(chosen: ColumnElement[bool], versions: Sequence[int] | None, most: int | None) -> Select[Any]:
    """The first and the last of each series, and how many it has, of the so many of these that are due
    soonest (None: of all) on these versions (None: on any)."""
    e, r = expectation.c, workflow_run.c
    first = (
        select(r.workflow_version_id, r.group_dim_hash, e.to_node_key, e.due_at)
        .join_from(expectation, workflow_run, r.id == e.workflow_run_id)
        .where(chosen)
    )
    if versions is not None:
        first = first.where(r.workflow_version_id.in_(versions))
    if most is not None:
        first = first.order_by(e.due_at).limit(most)
    of = first.subquery().c
    series = (of.workflow_version_id, of.group_dim_hash, of.to_node_key)
    return select(*series, func.min(of.due_at), func.max(of.due_at), func.count()).group_by(*series)
