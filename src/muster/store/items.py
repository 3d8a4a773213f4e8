"""Items: runs by their correlation keys, with what happened to them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Exists, Row, Select, exists, or_, select

from muster.model.stored import Page
from muster.model.watching import ExpectationStatus, Severity
from muster.model.workflow import WorkflowKind
from muster.store.alerts import alert_in, alerts
from muster.store.database import Database
from muster.store.finding import LAST_CHARACTER
from muster.store.paging import read_page
from muster.store.tables import (
    NAME_LENGTH,
    alert,
    event_occurrence,
    expectation,
    workflow,
    workflow_run,
    workflow_version,
)
from muster.store.types import is_storable
from muster.watch.items import Item, ItemEvent, ItemExpectation, ItemRun, WantedItems, lateness

r = workflow_run.c
MOST_RUNS = 100
MOST_EVENTS = 10_000


class ItemRepository:
    """`watch.items.ItemBook` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def item(
        self, institute_id: str | None, correlation_key: str, version_id: int | None
    ) -> Item | None:
        if not is_storable(correlation_key, NAME_LENGTH):
            return None

        def work(connection: Connection) -> Item | None:
            chosen = _runs(institute_id).where(r.correlation_key == correlation_key)
            rows = connection.execute(chosen.order_by(r.id.desc()).limit(MOST_RUNS)).all()
            runs = [_run(row) for row in rows]
            wanted = [run for run in runs if version_id in (None, run.workflow_version_id)]
            return _item(connection, wanted[0], runs) if wanted else None

        return await self._database.read(work)

    async def search(
        self, institute_id: str | None, wanted: WantedItems, page: Page
    ) -> tuple[Sequence[ItemRun], str | None]:
        chosen = _runs(institute_id)
        if wanted.q:
            if not is_storable(wanted.q, NAME_LENGTH):
                return [], None
            # As a range, which an index narrows down.
            begins = (r.correlation_key >= wanted.q, r.correlation_key < wanted.q + LAST_CHARACTER)
            chosen = chosen.where(*begins)
        if wanted.status is not None:
            chosen = chosen.where(r.status == wanted.status.value)
        if wanted.workflow is not None:
            chosen = chosen.where(or_(workflow.c.key == wanted.workflow, workflow.c.id == wanted.workflow))
        if wanted.group is not None:
            chosen = chosen.where(r.group_dim_hash == wanted.group)
        if wanted.node is not None:
            chosen = chosen.where(_counts_on(wanted.node))
        return await self._database.read(
            lambda connection: read_page(connection, "items", chosen, [r.id], page, _run, newest_first=True)
        )


def _runs(institute_id: str | None) -> Select[Any]:
    columns = (workflow.c.key.label("workflow_key"), workflow.c.kind, workflow_version.c.version)
    chosen = (
        select(workflow_run, *columns)
        .join(workflow_version, workflow_version.c.id == r.workflow_version_id)
        .join(workflow, workflow.c.id == workflow_version.c.workflow_id)
    )
    return chosen if institute_id is None else chosen.where(r.institute_id == institute_id)


def _counts_on(node: str) -> Exists:
    """Something is to come there, or should have."""
    e = expectation.c
    return exists().where(
        e.workflow_run_id == r.id,
        e.to_node_key == node,
        e.status.in_([ExpectationStatus.PENDING.value, ExpectationStatus.FIRED.value]),
        e.cleared_at.is_(None),
        e.abandoned_at.is_(None),
    )


def _item(connection: Connection, run: ItemRun, runs: Sequence[ItemRun]) -> Item:
    o, e = event_occurrence.c, expectation.c
    expected = [
        _expectation(row)
        for row in connection.execute(
            select(expectation)
            .where(e.workflow_run_id == run.run_id)
            .order_by(e.due_at, e.id)
            .limit(MOST_EVENTS)
        )
    ]
    came = connection.execute(
        select(event_occurrence)
        .where(o.workflow_run_id == run.run_id)
        .order_by(o.received_at, o.id)
        .limit(MOST_EVENTS)
    )
    events = [_event(row) for row in came]
    triggered = connection.execute(
        alerts(None).where(alert.c.workflow_run_id == run.run_id).order_by(alert.c.id).limit(MOST_EVENTS)
    )
    return Item(
        run,
        runs,
        [replace(event, lateness=lateness(event, expected)) for event in events],
        [each for each in expected if each.remains],
        [alert_in(row) for row in triggered],
    )


def _run(row: Row[Any]) -> ItemRun:
    return ItemRun(
        run_id=row.id,
        correlation_key=row.correlation_key,
        run_no=row.run_no,
        workflow_key=row.workflow_key,
        workflow_kind=WorkflowKind(row.kind),
        workflow_version_id=row.workflow_version_id,
        version=row.version,
        status=Severity(row.status),
        last_node=row.last_node_key,
        group=row.group_dims,
        group_hash=row.group_dim_hash,
        started_at=row.started_at,
        updated_at=row.updated_at,
        finished_at=row.finished_at,
    )


def _event(row: Row[Any]) -> ItemEvent:
    return ItemEvent(
        node=row.node_key,
        source_system=row.source_system,
        event_id=row.event_id,
        event_time=row.event_time,
        received_at=row.received_at,
        late=row.late,
        duplicate=row.duplicate,
        order_violation=row.order_violation,
        clamped=row.clamped,
        payload=row.payload_excerpt,
    )


def _expectation(row: Row[Any]) -> ItemExpectation:
    return ItemExpectation(
        id=row.id,
        from_node=row.from_node_key,
        to_node=row.to_node_key,
        due_at=row.due_at,
        severity=Severity(row.severity),
        status=ExpectationStatus(row.status),
        optional=row.optional,
        fired_at=row.fired_at,
        cleared_at=row.cleared_at,
        abandoned_at=row.abandoned_at,
    )
