"""What came in, and what was made of it: read for whoever replays it."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, select, tuple_, union_all

from muster.model.stored import Workflow
from muster.model.watching import Event, Severity
from muster.store.database import Database
from muster.store.tables import (
    alert,
    event_occurrence,
    event_raw,
    expectation,
    workflow_run,
    workflow_version,
)
from muster.store.watch_retention import EVENTS, RUNS, horizon_of
from muster.watch.replay import Told

BATCH = 5_000
w, r, e, a, o = event_raw.c, workflow_run.c, expectation.c, alert.c, event_occurrence.c


class HistoryRepository:
    """`watch.backtest.History` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def kept_since(self) -> datetime | None:
        return await self._database.read(lambda connection: horizon_of(connection, EVENTS, RUNS), single=True)

    async def under_way(self, workflow: Workflow, since: datetime) -> Collection[str]:
        chosen = select(r.correlation_key).where(_of(workflow), r.started_at < since, r.updated_at >= since)
        return await self._database.read(lambda connection: connection.scalars(chosen).all(), single=True)

    async def events(
        self, workflow: Workflow, types: Collection[str], since: datetime | None, until: datetime, most: int
    ) -> AsyncIterator[Sequence[Event]]:
        wanted = select(event_raw).where(
            w.institute_id == workflow.institute_id, w.event_type.in_(sorted(types)), w.received_at < until
        )
        if since is not None:
            wanted = wanted.where(w.received_at >= since)
        last: Row[Any] | None = None
        given = 0
        while given <= most:
            rows = await self._batch(wanted, last)
            events = [_event(row) for row in rows if _concerns(row, workflow)]
            if events:
                yield events
            if len(rows) < BATCH:
                return
            given, last = given + len(events), rows[-1]

    async def _batch(self, wanted: Select[Any], last: Row[Any] | None) -> Sequence[Row[Any]]:
        if last is not None:
            # The first for the index, the second for the rest.
            after = tuple_(w.received_at, w.id) > (last.received_at, last.id)
            wanted = wanted.where(w.received_at >= last.received_at, after)
        chosen = wanted.order_by(w.received_at, w.id).limit(BATCH)
        return await self._database.read(lambda connection: connection.execute(chosen).all(), single=True)

    async def told(
        self, workflow: Workflow, since: datetime | None, until: datetime, without: Collection[str]
    ) -> Told:
        def work(connection: Connection) -> Told:
            told, numbers, left_out = Told(), dict[str, int](), frozenset(without)
            began = [_of(workflow), r.started_at < until]
            if since is not None:
                began.append(r.started_at >= since)
            for row in connection.execute(_runs(began)):
                if row.correlation_key not in left_out:
                    number = numbers[row.correlation_key] = numbers.get(row.correlation_key, 0) + 1
                    told.runs[row.correlation_key, number] = Severity(row.status)
            for row in connection.execute(union_all(_misses(began, until), _late(began, until))):
                if row.correlation_key not in left_out:
                    place = (row.correlation_key, row.to_node_key)
                    told.misses[place] = told.misses.get(place, 0) + 1
            for row in connection.execute(_alerts(began)):
                if row.correlation_key not in left_out:
                    place = (row.correlation_key, row.node_key)
                    told.alerts[place] = (row.reason, Severity(row.severity))
            return told

        return await self._database.read(work)


def _of(workflow: Workflow) -> ColumnElement[bool]:
    versions = select(workflow_version.c.id).where(workflow_version.c.workflow_id == workflow.id)
    return r.workflow_version_id.in_(versions)


def _runs(began: Sequence[ColumnElement[bool]]) -> Select[Any]:
    return select(r.correlation_key, r.status).where(*began).order_by(r.started_at, r.id)


def _misses(began: Sequence[ColumnElement[bool]], until: datetime) -> Select[Any]:
    return (
        select(r.correlation_key, e.to_node_key)
        .join_from(expectation, workflow_run, r.id == e.workflow_run_id)
        .where(*began, e.fired_at.is_not(None), e.due_at < until)
    )


def _late(began: Sequence[ColumnElement[bool]], until: datetime) -> Select[Any]:
    """What came late before it was found missing."""
    return (
        select(r.correlation_key, o.node_key)
        .join_from(event_occurrence, workflow_run, r.id == o.workflow_run_id)
        .where(*began, o.counted_late.is_(True), o.received_at < until)
    )


def _alerts(began: Sequence[ColumnElement[bool]]) -> Select[Any]:
    return (
        select(a.correlation_key, a.node_key, a.reason, a.severity)
        .join_from(alert, workflow_run, r.id == a.workflow_run_id)
        .where(*began)
        .order_by(a.id)
    )


def _concerns(row: Row[Any], workflow: Workflow) -> bool:
    return row.workflow_keys is None or workflow.key in row.workflow_keys


def _event(row: Row[Any]) -> Event:
    return Event(
        source_system=row.source_system,
        event_id=row.source_event_id,
        event_type=row.event_type,
        event_time=row.event_time,
        received_at=row.received_at,
        correlation_key=row.correlation_key,
        workflow_keys=None if row.workflow_keys is None else tuple(row.workflow_keys),
        group=row.event_group,
        institute_id=row.institute_id,
    )
