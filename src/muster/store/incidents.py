"""Incidents: alerts are put into them, they end with their alerts, and each is told once."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from muster.model.stored import Page
from muster.model.watching import AlertReason, AlertState, Severity, worst
from muster.store.database import Database
from muster.store.dialect import now as database_now
from muster.store.dialect import one_at_a_time
from muster.store.paging import read_page
from muster.store.tables import alert, incident, stage_group, workflow, workflow_version
from muster.watch.incidents import FLOOD_WINDOW, Fresh, Placed, Standing, place
from muster.watch.notifying import Incident, IncidentState, WantedIncidents

a, i = alert.c, incident.c
# What had come to rest before anybody put it into an incident is in none.
NONE = 0
MISSED = AlertReason.EXPECTED_MISSED.value


class IncidentRepository:
    """`watch.notifying.IncidentBook` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def place(self, limit: int) -> int:
        return await self._database.write(lambda connection: _place_fresh(connection, limit))

    async def close(self) -> int:
        def work(connection: Connection) -> int:
            now = database_now(connection)
            live = exists().where(a.incident_id == i.id, a.state != AlertState.RESOLVED.value)
            over = select(i.id).where(i.state == IncidentState.OPEN.value, ~live)
            ended = connection.scalars(over).all()
            if not ended:
                return 0
            done = {"state": IncidentState.RESOLVED.value, "open_key": None, "resolved_at": now}
            # Once more under the lock: an alert may have come into it meanwhile.
            with one_at_a_time(connection, PLACE):
                closing = update(incident).where(i.id.in_(ended), i.state == IncidentState.OPEN.value, ~live)
                return connection.execute(closing.values(done)).rowcount

        return await self._database.write(work)

    async def untold(self, wait: timedelta, longer: timedelta, limit: int) -> Sequence[Incident]:
        def work(connection: Connection) -> Sequence[Incident]:
            now = database_now(connection)
            chosen = (
                _incidents(None)
                .where(
                    i.state == IncidentState.OPEN.value,
                    i.notified_at.is_(None),
                    i.first_triggered_at <= now - wait,
                    or_(i.first_triggered_at <= now - longer, ~_comes_second(now - FLOOD_WINDOW)),
                    exists().where(a.incident_id == i.id, a.state == AlertState.OPEN.value),
                )
                .order_by(i.id)
                .limit(limit)
            )
            return [incident_in(row) for row in connection.execute(chosen)]

        return await self._database.read(work)

    async def told(self, incident_ids: Collection[int]) -> None:
        def work(connection: Connection) -> None:
            chosen = update(incident).where(i.id.in_(incident_ids), i.notified_at.is_(None))
            connection.execute(chosen.values(notified_at=database_now(connection)))

        await self._database.write(work)

    async def list(
        self, institute_id: str | None, wanted: WantedIncidents, page: Page
    ) -> tuple[Sequence[Incident], str | None]:
        chosen = _incidents(institute_id)
        if wanted.state is not None:
            chosen = chosen.where(i.state == wanted.state.value)
        if wanted.workflow is not None:
            chosen = chosen.where(or_(workflow.c.key == wanted.workflow, workflow.c.id == wanted.workflow))
        return await self._database.read(
            lambda connection: read_page(
                connection, "incidents", chosen, [i.id], page, incident_in, newest_first=True
            )
        )


PLACE = "incidents"


def _place_fresh(connection: Connection, limit: int) -> int:
    """Put alerts that are in no incident yet into one; how many there were."""
    if connection.execute(select(a.id).where(a.incident_id.is_(None)).limit(1)).first() is None:
        return 0
    with one_at_a_time(connection, PLACE):
        rows = connection.execute(_fresh(limit)).all()
        over = [row.id for row in rows if row.state == AlertState.RESOLVED.value]
        if over:
            _put(connection, over, NONE)
        live = {row.id: row for row in rows if row.state != AlertState.RESOLVED.value}
        fresh = [
            Fresh(
                row.id,
                # Of a version that is not known here there is no more to tell.
                row.workflow_id or f"version {row.workflow_version_id}",
                row.node_key,
                row.group_dim_hash,
                Severity(row.severity),
                row.last_triggered_at,
                row.reason == MISSED,
            )
            for row in live.values()
        ]
        for placed in place(fresh, _standing(connection, fresh)):
            _keep(connection, placed, live[placed.alerts[0].id])
    return len(rows)


def _fresh(limit: int) -> Select[Any]:
    return (
        select(alert, workflow_version.c.workflow_id)
        .outerjoin(workflow_version, workflow_version.c.id == a.workflow_version_id)
        .where(a.incident_id.is_(None))
        .order_by(a.id)
        .limit(limit)
        .with_for_update(of=alert)
    )


def _comes_second(since: datetime) -> ColumnElement[bool]:
    """Whether another open incident of the workflow was told since then, or is to be told before this."""
    other = incident.alias()
    first = and_(other.c.notified_at.is_(None), other.c.id < i.id)
    return exists().where(
        other.c.workflow_id == i.workflow_id,
        other.c.state == IncidentState.OPEN.value,
        other.c.id != i.id,
        or_(first, other.c.notified_at >= since),
    )


def _standing(connection: Connection, fresh: Sequence[Fresh]) -> Sequence[Standing]:
    workflows = sorted({alert.workflow_id for alert in fresh})
    chosen = select(incident).where(i.state == IncidentState.OPEN.value, i.workflow_id.in_(workflows))
    rows = connection.execute(chosen.order_by(i.id)).all()
    since = max((each.at for each in fresh), default=None)
    missed = _missed(connection, [row.id for row in rows], since - FLOOD_WINDOW) if since else {}
    return [
        Standing(
            row.id,
            row.workflow_id,
            row.node_key,
            row.group_dim_hash,
            Severity(row.severity),
            row._mapping["count"],
            row.last_triggered_at,
            row.notified_at is not None,
            missed.get(row.id, 0),
        )
        for row in rows
    ]


def _missed(connection: Connection, incident_ids: Sequence[int], since: datetime) -> Mapping[int, int]:
    """How many alerts of each are about something that was missed since then."""
    chosen = select(a.incident_id, func.count()).where(
        a.incident_id.in_(incident_ids), a.reason == MISSED, a.last_triggered_at >= since
    )
    return {row[0]: row[1] for row in connection.execute(chosen.group_by(a.incident_id))}


def _keep(connection: Connection, placed: Placed, first: Row[Any]) -> None:
    absorbed = [each.id for each in placed.absorbs]
    if absorbed:
        connection.execute(delete(incident).where(i.id.in_(absorbed)))
    into = _opened(connection, placed, first) if placed.into is None else _grown(connection, placed)
    _put(connection, [each.id for each in placed.alerts], into)
    if absorbed:
        connection.execute(update(alert).where(a.incident_id.in_(absorbed)).values(incident_id=into))


def _opened(connection: Connection, placed: Placed, first: Row[Any]) -> int:
    row = {
        "institute_id": first.institute_id,
        "open_key": _open_key(placed),
        "workflow_id": placed.workflow_id,
        "workflow_version_id": first.workflow_version_id,
        "node_key": placed.node,
        "group_dim_hash": placed.group,
        "reason": first.reason,
        "severity": placed.severity.value,
        "state": IncidentState.OPEN.value,
        "count": placed.count,
        "first_triggered_at": database_now(connection),
        "last_triggered_at": placed.last_at,
    }
    written = connection.execute(insert(incident).values(row)).inserted_primary_key
    assert written is not None  # a single row always has one
    made: int = written[0]
    return made


def _grown(connection: Connection, placed: Placed) -> int:
    assert placed.into is not None
    row = connection.execute(select(incident).where(i.id == placed.into)).one()
    values = {
        "group_dim_hash": placed.group,
        "open_key": _open_key(placed),
        "severity": worst(Severity(row.severity), placed.severity).value,
        "count": row._mapping["count"] + placed.count,
        "last_triggered_at": max(row.last_triggered_at, placed.last_at),
    }
    connection.execute(update(incident).where(i.id == placed.into).values(values))
    return placed.into


def _open_key(placed: Placed) -> str:
    """What no two open incidents have in common, whoever opens them."""
    text = "\0".join([placed.workflow_id, placed.node, "*" if placed.group is None else f"={placed.group}"])
    return hashlib.sha256(text.encode()).hexdigest()


def _put(connection: Connection, alert_ids: Sequence[int], incident_id: int) -> None:
    connection.execute(update(alert).where(a.id.in_(alert_ids)).values(incident_id=incident_id))


def _incidents(institute_id: str | None) -> Select[Any]:
    same: ColumnElement[bool] = stage_group.c.workflow_version_id == i.workflow_version_id
    chosen = (
        select(incident, workflow.c.key.label("workflow_key"), stage_group.c.group_dims)
        .outerjoin(workflow, workflow.c.id == i.workflow_id)
        .outerjoin(stage_group, same & (stage_group.c.group_dim_hash == i.group_dim_hash))
    )
    return chosen if institute_id is None else chosen.where(i.institute_id == institute_id)


def incident_in(row: Row[Any]) -> Incident:
    return Incident(
        id=row.id,
        institute_id=row.institute_id,
        workflow_id=row.workflow_id,
        workflow_key=row.workflow_key or "",
        workflow_version_id=row.workflow_version_id,
        node=row.node_key,
        group_hash=row.group_dim_hash,
        group=row.group_dims,
        reason=row.reason,
        severity=Severity(row.severity),
        state=IncidentState(row.state),
        count=row._mapping["count"],
        first_triggered_at=row.first_triggered_at,
        last_triggered_at=row.last_triggered_at,
        notified_at=row.notified_at,
        resolved_at=row.resolved_at,
    )
