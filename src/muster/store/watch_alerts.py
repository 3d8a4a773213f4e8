"""Alerts that are triggered, and those that resolve by themselves: many at once, each under its lock."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row

from muster.model.stored import AuditEntry
from muster.model.watching import AlertState, Severity, Trigger
from muster.store.audit import add_audits_at
from muster.store.database import LookAgain
from muster.store.dialect import lock_rows, update_rows
from muster.store.sets import add_new, rows_of
from muster.store.tables import alert
from muster.watch.alerts import Move, Standing, Step, after
from muster.watch.lifecycle import AlertAction

BY_ITSELF = "muster"
RUN_COLUMNS = ("workflow_run_id", "group_dim_hash")


def write_alerts(connection: Connection, steps: Mapping[str, Sequence[Step]]) -> None:
    """Do these steps, by dedupe key. Raises `LookAgain`."""
    if not steps:
        return
    locked = lock_rows(connection, alert, "dedupe_key", list(steps), ("id",))
    rows = rows_of(connection, alert, "id", [row.id for row in locked], "true")
    there = {row.dedupe_key: row for row in rows}
    new, changed = [], []
    moved: dict[str, Sequence[Move]] = {}
    for key in sorted(steps):
        row = there.get(key)
        before = None if row is None else _standing(row)
        now = after(before, steps[key])
        if now is None or now == before:
            continue
        if now.moves:
            moved[key] = now.moves
        triggers = [step for step in steps[key] if isinstance(step, Trigger)]
        if row is None:
            new.append(_row(triggers[0], now))
        else:
            of_run = _of_run(triggers[-1]) if triggers else {}
            kept = {name: getattr(row, name) for name in RUN_COLUMNS}
            changed.append(
                {"id": row.id, **kept, **of_run, **_values(now), "incident_id": _incident(row, triggers)}
            )
    if new and not add_new(connection, alert, new, ("dedupe_key",)):
        raise LookAgain("another has opened the same alert")
    update_rows(connection, alert, changed, ("id",))
    _note(connection, moved)


def _standing(row: Row[Any]) -> Standing:
    return Standing(
        Severity(row.severity),
        row.reason,
        AlertState(row.state),
        row._mapping["count"],
        row.first_triggered_at,
        row.last_triggered_at,
        row.suppressed_until,
        row.resolved_at,
        row.acked_by,
    )


def _values(standing: Standing) -> dict[str, object]:
    return {
        "severity": standing.severity.value,
        "reason": str(standing.reason),
        "state": standing.state.value,
        "count": standing.count,
        "last_triggered_at": standing.last_triggered_at,
        "acked_by": standing.acked_by,
        "suppressed_until": standing.suppressed_until,
        "resolved_at": standing.resolved_at,
    }


def _row(trigger: Trigger, standing: Standing) -> dict[str, object]:
    return {
        "dedupe_key": trigger.dedupe_key,
        "institute_id": trigger.institute_id,
        "workflow_version_id": trigger.version_id,
        "node_key": trigger.node,
        "correlation_key": trigger.correlation_key,
        "first_triggered_at": standing.first_triggered_at,
        **_of_run(trigger),
        **_values(standing),
    }


def _of_run(trigger: Trigger) -> dict[str, object]:
    """Which of its key's runs it is about: the last that triggered it."""
    return {"workflow_run_id": trigger.run_id, "group_dim_hash": trigger.group_hash}


def _incident(row: Row[Any], triggers: Sequence[Trigger]) -> int | None:
    """Which incident it belongs to: one that is opened again has yet to be put into one."""
    again = bool(triggers) and row.state == AlertState.RESOLVED.value
    return None if again else row.incident_id


def _note(connection: Connection, moved: Mapping[str, Sequence[Move]]) -> None:
    """What alerts did by themselves, each at its time."""
    if not moved:
        return
    rows = lock_rows(connection, alert, "dedupe_key", list(moved), ("id", "dedupe_key", "institute_id"))
    add_audits_at(
        connection, [(_audit(row, each), each.at) for row in rows for each in moved[row.dedupe_key]]
    )


def _audit(row: Row[Any], move: Move) -> AuditEntry:
    action = AlertAction.RESOLVE if move.after is AlertState.RESOLVED else AlertAction.REOPEN
    details = {"from": move.before.value, "to": move.after.value, "reason": move.reason}
    return AuditEntry("alert", str(row.id), action.value, BY_ITSELF, row.institute_id, {**details})
