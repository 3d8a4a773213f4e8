"""Waits for events and near misses as people find them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, func, or_, select

from muster.engine.event_waits import WaitStatus, trouble_of_condition
from muster.model.event_wait import NearMissRecord, WaitRecord
from muster.model.json import JsonObject
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.event_waits import W, state_of
from muster.store.paging import read_page
from muster.store.tables import ID_LENGTH, execution_wait_states, near_miss
from muster.store.types import is_storable

N = near_miss.c
# Without what the events brought: it may be large.
SHOWN = [
    column
    for column in execution_wait_states.c
    if column.name not in ("api_response_data", "kafka_event_data", "api_call_response")
]


class EventWaitLists:
    """`nodes.event_waiting.WaitLists` on a database. `institute_id` None reads across tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        status: str | None = None,
        execution_id: str | None = None,
        workflow_id: str | None = None,
    ) -> tuple[Sequence[WaitRecord], str | None]:
        wanted = select(*SHOWN)
        given = {
            W.institute_id: institute_id,
            W.status: status,
            W.execution_id: execution_id,
            W.workflow_id: workflow_id,
        }
        for column, value in given.items():
            if value is not None:
                wanted = wanted.where(column == value)
        return await self._database.read(
            lambda connection: read_page(
                connection, "waits", wanted, [W.id], page, wait_record, newest_first=True
            )
        )

    async def get(self, institute_id: str | None, wait_id: str) -> WaitRecord | None:
        if not is_storable(wait_id, ID_LENGTH):
            return None
        wanted = select(execution_wait_states).where(W.id == wait_id)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        if row is None or institute_id not in (None, row.institute_id):
            return None
        return whole_wait_record(row)

    async def of_execution(self, execution_id: str) -> Sequence[WaitRecord]:
        """In the order in which they were opened."""
        mine = (W.execution_id == execution_id,)
        found = await self._rows(select(*SHOWN).where(*mine).order_by(W.created_at, W.id))
        return [await self._with_trouble(each, has_condition) for each, has_condition in found]

    async def _with_trouble(self, record: WaitRecord, has_condition: bool) -> WaitRecord:
        """Why it cannot go on is found in what the events brought, which is read only where it is asked."""
        if not has_condition or record.status != WaitStatus.WAITING or not record.received_events:
            return record
        return await self.get(None, record.id) or record

    async def near_misses(
        self,
        institute_id: str | None,
        page: Page,
        wait_id: str | None = None,
        execution_id: str | None = None,
        reason: str | None = None,
    ) -> tuple[Sequence[NearMissRecord], str | None]:
        wanted = select(near_miss)
        if execution_id is not None:
            # What came for one of its waits under another execution's id is of interest most of all.
            waits = select(W.id).where(W.execution_id == execution_id)
            wanted = wanted.where(or_(N.execution_id == execution_id, N.wait_id.in_(waits)))
        given = {N.institute_id: institute_id, N.wait_id: wait_id, N.reason: reason}
        for column, value in given.items():
            if value is not None:
                wanted = wanted.where(column == value)
        return await self._database.read(
            lambda connection: read_page(
                connection, "near misses", wanted, [N.id], page, near_miss_record, newest_first=True
            )
        )

    async def near_miss(self, institute_id: str | None, number: int) -> NearMissRecord | None:
        wanted = select(near_miss).where(N.id == number)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        if row is None or institute_id not in (None, row.institute_id):
            return None
        return near_miss_record(row)

    async def standing(self) -> tuple[int, timedelta]:
        """How many wait, and how old the oldest of them is."""

        def work(connection: Connection) -> tuple[int, timedelta]:
            waiting = select(func.count(), func.min(W.created_at)).where(W.status == WaitStatus.WAITING.value)
            count, first = connection.execute(waiting).one()
            return count, now(connection) - first if first is not None else timedelta()

        return await self._database.read(work)

    async def _rows(self, wanted: Select[Any]) -> Sequence[tuple[WaitRecord, bool]]:
        """And whether they have a condition."""
        rows = await self._database.read(lambda connection: connection.execute(wanted).all())
        return [(wait_record(row), "completeWhen" in row.config) for row in rows]


def wait_record(row: Row[Any]) -> WaitRecord:
    return WaitRecord(
        id=row.id,
        execution_id=row.execution_id,
        node_id=row.node_id,
        visit=row.visit,
        correlation_id=row.correlation_id,
        workflow_id=row.workflow_id,
        institute_id=row.institute_id,
        aggregation_strategy=row.aggregation_strategy,
        status=row.status,
        enabled_events=tuple(row.enabled_events or ()),
        required_events=tuple(row.required_events or ()),
        needed_events=tuple(row.needed_events or ()),
        received_events=tuple(row.received_events or ()),
        received=_without_data(row.events or {}),
        on_timeout=str(row.config.get("onTimeout")),
        near_misses=row.near_misses,
        created_at=row.created_at,
        updated_at=row.updated_at,
        expires_at=row.expires_at,
        resumed_at=row.resumed_at,
        resumed_by=row.resumed_by,
    )


def whole_wait_record(row: Row[Any]) -> WaitRecord:
    """Of a row with what the events brought."""
    record = wait_record(row)
    if record.status != WaitStatus.WAITING:
        return record
    state = state_of(row)
    return replace(record, trouble=trouble_of_condition(state.plan, state.received))


def _without_data(events: JsonObject) -> JsonObject:
    return {
        name: {key: value for key, value in known.items() if key != "data"}
        for name, known in events.items()
        if isinstance(known, dict)
    }


def near_miss_record(row: Row[Any]) -> NearMissRecord:
    return NearMissRecord(
        id=row.id,
        source=row.source,
        topic=row.topic,
        execution_id=row.execution_id,
        correlation_id=row.correlation_id,
        reason=row.reason,
        event=row.event,
        payload=row.payload,
        received_at=row.received_at,
        wait_id=row.wait_id,
        applied_to=row.applied_to,
        applied_by=row.applied_by,
        institute_id=row.institute_id,
        trace=row.trace_parent,
    )
