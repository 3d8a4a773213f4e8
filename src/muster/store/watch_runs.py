"""Runs of what is watched, with what they expect: read under their locks, and written for many at once."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row

from muster.model.json import JsonObject
from muster.model.watching import Expectation, ExpectationStatus, Run, Severity
from muster.store.database import LookAgain
from muster.store.dialect import update_rows
from muster.store.sets import add_new, change_held, hold_all, hold_last, rows_of
from muster.store.tables import expectation, workflow_run
from muster.store.watch_kept import Place

RUN_KEY = ("workflow_version_id", "correlation_key", "run_no")
FIRST_SEQ = 1
NOT_CLEARED = "status <> 'cleared'"
# Asking the types themselves takes several times as long, and every event reads some.
SEVERITIES = {each.value: each for each in Severity}
STATUSES = {each.value: each for each in ExpectationStatus}


def hold_latest(connection: Connection, places: Sequence[Place]) -> dict[Place, Run]:
    """The latest run at each of these places, if there is one. If somebody changes it, or what it expects,
    meanwhile, `change_runs` says so: it comes before what is written about it."""
    rows = hold_last(connection, workflow_run, RUN_KEY[:2], places, "run_no")
    return {(run.version_id, run.correlation_key): run for run in with_expectations(connection, rows)}


def hold(connection: Connection, run_ids: Collection[int]) -> list[Run]:
    """These runs, locked."""
    rows = hold_all(connection, workflow_run, "id", sorted(run_ids), RUN_KEY)
    return with_expectations(connection, rows)


def with_expectations(connection: Connection, rows: Sequence[Row[Any]]) -> list[Run]:
    """Runs of rows that are held."""
    runs = {row.id: run_of(row) for row in rows}
    # What is over expects nothing, but for what was missed.
    for row in rows_of(connection, expectation, "workflow_run_id", sorted(runs), NOT_CLEARED):
        runs[row.workflow_run_id].expectations.append(expectation_of(row))
    return list(runs.values())


def run_of(row: Row[Any]) -> Run:
    state = row.state or {}
    return Run(
        id=row.id,
        version_id=row.workflow_version_id,
        correlation_key=row.correlation_key,
        number=row.run_no,
        institute_id=row.institute_id,
        group=row.group_dims,
        group_hash=row.group_dim_hash,
        started_at=row.started_at,
        updated_at=row.updated_at,
        status=SEVERITIES[row.status],
        last_node=row.last_node_key,
        seq=row.seq,
        finished_at=row.finished_at,
        terminal_came=bool(state.get("terminal")),
        awaits_start=bool(state.get("awaitsStart")),
        early=dict(state.get("early", {})),
    )


def expectation_of(row: Row[Any]) -> Expectation:
    return Expectation(
        id=row.id,
        run_id=row.workflow_run_id,
        source=row.from_node_key,
        target=row.to_node_key,
        due_at=row.due_at,
        severity=SEVERITIES[row.severity],
        optional=bool(row.optional),
        created_at=row.created_at,
        origin_id=row.origin_id,
        status=STATUSES[row.status],
        leads=bool(row.leads),
        fired_at=row.fired_at,
        cleared_at=row.cleared_at,
        abandoned_at=row.abandoned_at,
    )


def add_runs(connection: Connection, runs: Sequence[Run]) -> None:
    """Raises `LookAgain` if somebody else has begun one of them meanwhile."""
    rows = [_new_row(run) for run in sorted(runs, key=lambda run: (run.version_id, run.correlation_key))]
    if rows and not add_new(connection, workflow_run, rows, RUN_KEY):
        raise LookAgain("another has begun a run of the same key")


def change_runs(connection: Connection, runs: Iterable[Run]) -> None:
    """Write runs that are held; nobody else changes them, or what they expect, until the transaction is over.
    In one order, since it waits for others. Raises `LookAgain`."""
    ordered = sorted(runs, key=lambda run: run.id)
    change_held(connection, workflow_run, [_changes(run) for run in ordered], "id", "seq")


def _new_row(run: Run) -> dict[str, object]:
    return {
        **_changes(run),
        "seq": FIRST_SEQ,
        "workflow_version_id": run.version_id,
        "correlation_key": run.correlation_key,
        "run_no": run.number,
        "institute_id": run.institute_id,
        "group_dims": run.group,
        "group_dim_hash": run.group_hash,
        "started_at": run.started_at,
    }


def _changes(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "status": run.status.value,
        "last_node_key": run.last_node,
        "state": _state(run),
        "seq": run.seq,
        "updated_at": run.updated_at,
        "finished_at": run.finished_at,
    }


def _state(run: Run) -> JsonObject | None:
    if not run.early and not run.terminal_came and not run.awaits_start:
        return None
    state: JsonObject = {"early": {**run.early}, "terminal": run.terminal_came}
    return state | {"awaitsStart": True} if run.awaits_start else state


def add_expectations(connection: Connection, created: Sequence[Expectation]) -> None:
    rows = [
        {
            "id": each.id,
            "workflow_run_id": each.run_id,
            "from_node_key": each.source,
            "to_node_key": each.target,
            "due_at": each.due_at,
            "severity": each.severity.value,
            "status": each.status.value,
            "optional": each.optional,
            "origin_id": each.origin_id,
            "leads": each.leads,
            "created_at": each.created_at,
            "cleared_at": each.cleared_at,
        }
        for each in created
    ]
    if rows:
        add_new(connection, expectation, rows)


def change_expectations(
    connection: Connection, changed: Iterable[Expectation], owner: str | None = None
) -> None:
    """Of runs that are written already. `owner`: who lets them fire."""
    rows: list[dict[str, object]] = [
        {
            "id": each.id,
            "status": each.status.value,
            "leads": each.leads,
            "fired_at": each.fired_at,
            "cleared_at": each.cleared_at,
            "abandoned_at": each.abandoned_at,
        }
        for each in changed
    ]
    if owner is not None:
        rows = [{**row, "lock_owner": owner} for row in rows]
    update_rows(connection, expectation, rows, ("id",))
