"""Alerts: listed, and acted on with an audit row for each."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, Select, select, update

from muster.model.stored import AuditEntry, Page
from muster.model.watching import AlertState, Severity
from muster.store.audit import add_audits
from muster.store.database import Database
from muster.store.dialect import now as database_now
from muster.store.paging import read_page
from muster.store.tables import alert, workflow, workflow_version
from muster.store.types import time_text
from muster.store.watch_alerts import BY_ITSELF
from muster.watch.alert_book import Act, Acted, Alert, WantedAlerts
from muster.watch.alerts import OVER
from muster.watch.lifecycle import LEADS_TO, AlertAction, Illegal, after

a = alert.c


# Runs, and at which of their nodes something was missed that nobody counts on any more.
GiveUp: TypeAlias = Callable[[Connection, Mapping[int, Collection[str]]], object]


class AlertRepository:
    """`watch.alert_book.AlertBook` on a database. `give_up` counts no longer on what was missed at nodes of
    some runs, in the transaction that is open; it locks those runs, all of them in one order."""

    def __init__(self, database: Database, give_up: GiveUp = lambda *_: None) -> None:
        self._database, self._give_up = database, give_up

    async def list(
        self, institute_id: str | None, wanted: WantedAlerts, page: Page
    ) -> tuple[Sequence[Alert], str | None]:
        chosen = alerts(institute_id).where(*_conditions(wanted))
        return await self._database.read(
            lambda connection: read_page(
                connection, "alerts", chosen, [a.id], page, alert_in, newest_first=True
            )
        )

    async def get(self, institute_id: str | None, alert_id: int) -> Alert | None:
        chosen = alerts(institute_id).where(a.id == alert_id)
        row = await self._database.read(lambda connection: connection.execute(chosen).first(), single=True)
        return None if row is None else alert_in(row)

    async def act(self, institute_id: str | None, alert_ids: Sequence[int], act: Act) -> Sequence[Acted]:
        def work(connection: Connection) -> Sequence[Acted]:
            if act.action is AlertAction.RESOLVE:
                self._let_go(connection, institute_id, alert_ids)
            return _act(connection, institute_id, alert_ids, act)

        return await self._database.write(work)

    def _let_go(self, connection: Connection, institute_id: str | None, alert_ids: Sequence[int]) -> None:
        """Whoever resolves a miss waits for it no longer, whatever else the alert is about. Runs before
        alerts: events lock them so."""
        missed = select(a.node_key, a.workflow_run_id).where(
            a.id.in_(alert_ids),
            a.state != AlertState.RESOLVED.value,
            a.workflow_run_id.is_not(None),
            *_of(institute_id),
        )
        nodes: dict[int, set[str]] = {}
        for row in connection.execute(missed):
            nodes.setdefault(row.workflow_run_id, set()).add(row.node_key)
        if nodes:
            self._give_up(connection, nodes)

    async def end_suppressions(self, limit: int = 1000) -> int:
        """Open the alerts that were suppressed until now, and say how many."""

        def work(connection: Connection) -> int:
            now = database_now(connection)
            over: Select[Any] = (
                select(a.id, a.institute_id, a.state)
                .where(a.state == AlertState.SUPPRESSED.value, a.suppressed_until <= now)
                .order_by(a.id)
                .limit(limit)
                .with_for_update(skip_locked=True)
            )
            rows = connection.execute(over).all()
            if rows:
                act = Act(AlertAction.REOPEN, BY_ITSELF, OVER)
                _change(connection, [row.id for row in rows], act, now)
                add_audits(connection, [_audit(row, act) for row in rows], now)
            return len(rows)

        return await self._database.write(work)


def _act(
    connection: Connection, institute_id: str | None, alert_ids: Sequence[int], act: Act
) -> Sequence[Acted]:
    if not alert_ids:
        return []
    now = database_now(connection)
    # In the order in which events lock them.
    held = select(alert).where(a.id.in_(alert_ids), *_of(institute_id)).order_by(a.dedupe_key)
    held = held.with_for_update()
    rows = connection.execute(held).all()
    refused: dict[int, str] = {}
    for row in rows:
        try:
            after(AlertState(row.state), act.action, act.until, row.suppressed_until)
        except Illegal as illegal:
            refused[row.id] = str(illegal)
    legal = [row for row in rows if row.id not in refused]
    if legal:
        _change(connection, [row.id for row in legal], act, now)
        add_audits(connection, [_audit(row, act) for row in legal], now)
    chosen = alerts(institute_id).where(a.id.in_([row.id for row in rows]))
    found = {row.id: alert_in(row) for row in connection.execute(chosen)} if rows else {}
    return [Acted(each, found.get(each), refused.get(each)) for each in alert_ids]


def _change(connection: Connection, alert_ids: Sequence[int], act: Act, now: datetime) -> None:
    values: dict[str, object]
    match act.action:
        case AlertAction.ACK:
            values = {"state": AlertState.ACK.value, "acked_by": act.actor, "suppressed_until": None}
        case AlertAction.SUPPRESS:
            values = {"state": AlertState.SUPPRESSED.value, "suppressed_until": act.until}
        case AlertAction.RESOLVE:
            values = {"state": AlertState.RESOLVED.value, "suppressed_until": None, "resolved_at": now}
        case AlertAction.REOPEN:
            again = {"acked_by": None, "suppressed_until": None, "resolved_at": None}
            resolved = a.id.in_(alert_ids) & (a.state == AlertState.RESOLVED.value)
            connection.execute(update(alert).where(resolved).values(incident_id=None))
            values = {"state": AlertState.OPEN.value, **again}
    connection.execute(update(alert).where(a.id.in_(alert_ids)).values(values))


def _audit(row: Row[Any], act: Act) -> AuditEntry:
    to = LEADS_TO[act.action].value
    details: dict[str, Any] = {"from": row.state, "to": to, "reason": act.reason}
    if act.until is not None:
        details["until"] = time_text(act.until)
    return AuditEntry("alert", str(row.id), act.action.value, act.actor, row.institute_id, details)


def _of(institute_id: str | None) -> list[ColumnElement[bool]]:
    return [] if institute_id is None else [a.institute_id == institute_id]


def alerts(institute_id: str | None) -> Select[Any]:
    """Also those of versions that only another knows who applies the rules."""
    chosen = (
        select(alert, workflow.c.key.label("workflow_key"))
        .outerjoin(workflow_version, workflow_version.c.id == a.workflow_version_id)
        .outerjoin(workflow, workflow.c.id == workflow_version.c.workflow_id)
    )
    return chosen.where(*_of(institute_id))


def _conditions(wanted: WantedAlerts) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.state is not None:
        found.append(a.state == wanted.state.value)
    if wanted.severity is not None:
        found.append(a.severity == wanted.severity.value)
    if wanted.workflow is not None:
        found.append((workflow.c.key == wanted.workflow) | (workflow.c.id == wanted.workflow))
    if wanted.incident is not None:
        found.append(a.incident_id == wanted.incident)
    if wanted.q:
        found.append(a.correlation_key.contains(wanted.q, autoescape=True))
    return found


def alert_in(row: Row[Any]) -> Alert:
    return Alert(
        id=row.id,
        dedupe_key=row.dedupe_key,
        institute_id=row.institute_id,
        workflow_key=row.workflow_key or "",
        workflow_version_id=row.workflow_version_id,
        workflow_run_id=row.workflow_run_id,
        node=row.node_key,
        correlation_key=row.correlation_key,
        group_hash=row.group_dim_hash,
        severity=Severity(row.severity),
        reason=row.reason,
        state=AlertState(row.state),
        count=row._mapping["count"],
        first_triggered_at=row.first_triggered_at,
        last_triggered_at=row.last_triggered_at,
        acked_by=row.acked_by,
        suppressed_until=row.suppressed_until,
        resolved_at=row.resolved_at,
        incident_id=row.incident_id or None,
    )
