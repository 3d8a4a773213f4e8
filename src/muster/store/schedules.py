"""Schedules: changed by people, claimed by whoever is there when their time comes, settled under a fence."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)

from muster.definitions.ports import Stale
from muster.engine.occurrences import DueSchedule
from muster.engine.schedules import Archived, Claimed, Settled, occurrence
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.schedule import ScheduleOrigin, ScheduleStatus, StoredSchedule
from muster.model.stored import AuditEntry, Page
from muster.model.workflow import Schedule, WorkflowStatus
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import Claim, insert_rows, lock_rows, now, update_rows
from muster.store.paging import read_page
from muster.store.schedule_rows import (
    ACTIVE,
    INACTIVE,
    TAKEN_BACK,
    content,
    new_row,
    schedule_of_row,
    stored,
    switched_off,
    switched_on,
)
from muster.store.tables import ID_LENGTH, idempotency_key, workflow, workflow_execution, workflow_schedule
from muster.store.types import UtcTime, is_storable

S = workflow_schedule.c
E = workflow_execution.c
K = idempotency_key.c
# Whoever has claimed a schedule and gone away holds it for no longer.
BUSY_FOR = timedelta(seconds=5)
HELD_FOR = timedelta(seconds=1)
# What cannot be understood is looked at again, but not all the time.
LEFT_ALONE_FOR = timedelta(minutes=1)

AT = bindparam("at", type_=UtcTime())
DUE = Claim(
    workflow_schedule,
    select(S.id)
    .where(and_(S.status == ACTIVE, S.next_run_at <= AT, or_(S.lease_until.is_(None), S.lease_until <= AT)))
    .order_by(S.next_run_at, S.id)
    .limit(bindparam("most")),
    {"lease_until": bindparam("until", type_=UtcTime()), "fence": S.fence + 1},
    list(S),
)


def next_run(at: ColumnElement[datetime]) -> Select[Any]:
    """When the next comes due, or came due that nobody has claimed."""
    unclaimed = or_(S.next_run_at > at, S.lease_until.is_(None), S.lease_until <= at)
    return select(func.min(S.next_run_at)).where(S.status == ACTIVE, unclaimed)


NEXT = next_run(AT)


class ScheduleRepository:
    """`engine.schedules.Schedules` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, schedule_id: str, workflow_id: str, institute_id: str, schedule: Schedule, audit: AuditEntry
    ) -> StoredSchedule:
        def work(connection: Connection) -> StoredSchedule:
            at = now(connection)
            _refuse_archived(connection, workflow_id)
            row = new_row(schedule_id, workflow_id, institute_id, ScheduleOrigin.API, schedule, at)
            insert_rows(connection, workflow_schedule, [row])
            add_audit(connection, audit, at)
            return stored(connection.execute(select(workflow_schedule).where(S.id == schedule_id)).one())

        return await self._database.write(work)

    async def replace(
        self, schedule_id: str, schedule: Schedule, keeps: bool, expected: int | None, audit: AuditEntry
    ) -> bool:
        def work(connection: Connection) -> bool:
            at = now(connection)
            is_archived = _is_archived(connection, schedule_id)
            row = _held(connection, schedule_id)
            if row is None or row.origin != ScheduleOrigin.API:
                return False
            if expected not in (None, row.version):
                raise Stale(row.version)
            written = replace(schedule, status=row.status) if keeps else schedule
            if is_archived and written.status == ACTIVE:
                raise Archived
            values = {**content(written, at), **TAKEN_BACK, "version": row.version + 1}
            if not keeps:
                values["archived_at"] = None
            changed = update(workflow_schedule).where(S.id == schedule_id).values(values)
            return _noted(connection, connection.execute(changed).rowcount, audit, at)

        return await self._database.write(work)

    async def delete(self, schedule_id: str, audit: AuditEntry) -> bool:
        def work(connection: Connection) -> bool:
            mine = (S.id == schedule_id, S.origin == ScheduleOrigin.API.value)
            gone = connection.execute(delete(workflow_schedule).where(*mine)).rowcount
            return _noted(connection, gone, audit, now(connection))

        return await self._database.write(work)

    async def switch(self, schedule_id: str, status: ScheduleStatus, audit: AuditEntry) -> bool:
        def work(connection: Connection) -> bool:
            at = now(connection)
            is_archived = _is_archived(connection, schedule_id)
            row = _held(connection, schedule_id)
            if row is None:
                return False
            if row.status == status and row.archived_at is None:
                return True
            if is_archived and status == ACTIVE:
                raise Archived
            values = switched_on(schedule_of_row(row), at) if status == ACTIVE else switched_off(at)
            if values is None:
                return False
            values["version"] = row.version + 1
            changed = update(workflow_schedule).where(S.id == schedule_id).values(values)
            return _noted(connection, connection.execute(changed).rowcount, audit, at)

        return await self._database.write(work)

    async def get(self, institute_id: str | None, schedule_id: str) -> StoredSchedule | None:
        if not is_storable(schedule_id, ID_LENGTH):
            return None
        wanted = select(workflow_schedule).where(S.id == schedule_id)
        if institute_id is not None:
            wanted = wanted.where(S.institute_id == institute_id)

        def work(connection: Connection) -> StoredSchedule | None:
            row = connection.execute(wanted).first()
            return None if row is None else _with_failures(connection, [stored(row)])[0]

        return await self._database.read(work)

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        workflow_id: str | None = None,
        status: ScheduleStatus | None = None,
    ) -> tuple[Sequence[StoredSchedule], str | None]:
        wanted = select(workflow_schedule)
        if institute_id is not None:
            wanted = wanted.where(S.institute_id == institute_id)
        if workflow_id is not None:
            wanted = wanted.where(S.workflow_id == workflow_id)
        if status is not None:
            wanted = wanted.where(S.status == status.value)

        def work(connection: Connection) -> tuple[Sequence[StoredSchedule], str | None]:
            found, following = read_page(
                connection, "schedules", wanted, [S.id], page, stored, newest_first=True
            )
            return _with_failures(connection, found), following

        return await self._database.read(work)

    async def ran(self, schedule_id: str, audit: AuditEntry) -> None:
        def work(connection: Connection) -> None:
            at = now(connection)
            connection.execute(
                update(workflow_schedule).where(S.id == schedule_id).values(last_run_at=at, updated_at=at)
            )
            add_audit(connection, audit, at)

        await self._database.write(work)

    async def note(self, audit: AuditEntry) -> None:
        await self._database.write(lambda connection: add_audit(connection, audit, now(connection)))

    async def claim(self, most: int) -> Claimed:
        def work(connection: Connection) -> Claimed:
            at = now(connection)
            rows = DUE.run(connection, at=at, until=at + BUSY_FOR, most=most)
            return Claimed(at, _due(connection, rows, at) if rows else ())

        return await self._database.write(work)

    async def settle(self, settled: Sequence[Settled]) -> None:
        if not settled:
            return
        fences = {each.due.stored.id: each.due.fence for each in settled}

        def work(connection: Connection) -> None:
            at = now(connection)
            held = lock_rows(connection, workflow_schedule, "id", list(fences), ("id", "fence"))
            mine = {row.id for row in held if row.fence == fences[row.id]}
            rows = [_settled_row(each, at) for each in settled if each.due.stored.id in mine]
            rows.sort(key=sorted)
            for _, alike in groupby(rows, sorted):
                update_rows(connection, workflow_schedule, list(alike), ("id",))

        await self._database.write(work)

    async def next_due(self) -> timedelta | None:
        def work(connection: Connection) -> timedelta | None:
            at = now(connection)
            found: datetime | None = connection.execute(NEXT, {"at": at}).scalar()
            return None if found is None else found - at

        return await self._database.read(work)


def _is_archived(connection: Connection, schedule_id: str) -> bool:
    """Whether its workflow is. Holds the workflow's row, before its schedules', as archiving does."""
    of = select(S.workflow_id).where(S.id == schedule_id).scalar_subquery()
    return _status(connection, workflow.c.id == of) == WorkflowStatus.ARCHIVED


def _refuse_archived(connection: Connection, workflow_id: str) -> None:
    if _status(connection, workflow.c.id == workflow_id) == WorkflowStatus.ARCHIVED:
        raise Archived


def _status(connection: Connection, which: ColumnElement[bool]) -> str | None:
    status: str | None = connection.execute(select(workflow.c.status).where(which).with_for_update()).scalar()
    return status


def _held(connection: Connection, schedule_id: str) -> Row[Any] | None:
    return connection.execute(select(workflow_schedule).where(S.id == schedule_id).with_for_update()).first()


def _noted(connection: Connection, changed: int, audit: AuditEntry, at: datetime) -> bool:
    if changed:
        add_audit(connection, audit, at)
    return changed > 0


def _settled_row(settled: Settled, at: datetime) -> dict[str, object]:
    """The columns that have changed: what somebody has done by hand meanwhile stays."""
    plan = settled.plan
    row: dict[str, object] = {"id": settled.due.stored.id, "lease_until": None, "updated_at": at}
    if plan is None:
        return {**row, "lease_until": at + LEFT_ALONE_FOR, "last_error": settled.error}
    ended = plan.gives_up or plan.next_run_at is None
    row["status"] = INACTIVE if ended else ACTIVE
    row["next_run_at"] = None if ended else plan.next_run_at
    if plan.holds:
        row["lease_until"] = at + HELD_FOR
    if settled.ran:
        row["last_run_at"] = at
    if plan.gives_up:
        row["last_error"] = f"Switched off: {settled.due.failures} executions in a row have failed."
    elif settled.ran or settled.error:
        row["last_error"] = settled.error
    if plan.skipped_at is not None:
        row |= {"last_skipped_at": plan.skipped_at, "last_skip_reason": plan.skip_reason}
    return row


# --- what a claim has to know of the executions that were started ---------------------------------------


def _due(connection: Connection, rows: Sequence[Row[Any]], at: datetime) -> list[DueSchedule]:
    kept = {row.id: stored(row) for row in rows}
    skipping = [row.id for row in rows if row.overlap == "skip"]
    running = _running(connection, skipping)
    started = _started(connection, list(kept.values()), at)
    return [
        DueSchedule(
            kept[row.id],
            row.next_run_at,
            row.fence,
            is_started=row.id in started,
            runs=row.id in running,
            failures=_failures(connection, row),
        )
        for row in rows
    ]


def _running(connection: Connection, ids: Collection[str]) -> set[str]:
    if not ids:
        return set()
    live = select(E.trigger_id).where(E.trigger_id.in_(sorted(ids)), E.completed_at.is_(None)).distinct()
    return set(connection.scalars(live))


def _started(connection: Connection, due: Sequence[StoredSchedule], at: datetime) -> set[str]:
    """Those whose next occurrence somebody has started, and then died."""
    keys = {_hash(each, at): each.id for each in due if each.next_run_at is not None}
    found = connection.scalars(select(K.hash).where(K.hash.in_(sorted(keys)), K.expires_at > at))
    return {keys[each] for each in found}


def _hash(kept: StoredSchedule, at: datetime) -> str:
    assert kept.next_run_at is not None, "it is due"
    key = occurrence(kept, kept.next_run_at, at).hash
    assert key is not None, "an occurrence's key can be asked for by others"
    return key


def _failures(connection: Connection, row: Row[Any]) -> int:
    """How many of the last executions that ended since it was switched on have failed, in a row."""
    if row.pause_after_failures is None:
        return 0
    ended = (
        select(E.status)
        .where(E.trigger_id == row.id, E.started_at >= row.activated_at, E.status.in_(sorted(FINAL)))
        .order_by(E.id.desc())
        .limit(row.pause_after_failures)
    )
    statuses = connection.scalars(ended).all()
    failed = ExecutionStatus.FAILED.value
    return next((place for place, status in enumerate(statuses) if status != failed), len(statuses))


def _with_failures(connection: Connection, found: Sequence[StoredSchedule]) -> list[StoredSchedule]:
    """With what the last execution that ended failed with, where nothing worse is known."""
    failed = _last_failures(connection, [each.id for each in found if each.last_error is None])
    return [replace(each, last_error=failed.get(each.id, each.last_error)) for each in found]


def _last_failures(connection: Connection, ids: Collection[str]) -> Mapping[str, str]:
    if not ids:
        return {}
    last = (
        select(func.max(E.id))
        .where(E.trigger_id.in_(sorted(ids)), E.status.in_(sorted(FINAL)))
        .group_by(E.trigger_id)
        .scalar_subquery()
    )
    failed = select(E.trigger_id, E.error_type, E.error_message).where(
        E.id.in_(last), E.status == ExecutionStatus.FAILED
    )
    return {row.trigger_id: f"{row.error_type}: {row.error_message}" for row in connection.execute(failed)}
