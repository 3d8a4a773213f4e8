"""Schedules as people make, change and see them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, select, update

from muster.definitions.ports import Stale
from muster.engine.schedules import Archived
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.schedule import ScheduleOrigin, ScheduleStatus, StoredSchedule
from muster.model.stored import AuditEntry, Page
from muster.model.workflow import Schedule, WorkflowStatus
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import insert_rows, now
from muster.store.paging import read_page
from muster.store.schedule_rows import (
    ACTIVE,
    TAKEN_BACK,
    content,
    new_row,
    schedule_of_row,
    stored,
    switched_off,
    switched_on,
)
from muster.store.tables import ID_LENGTH, workflow, workflow_execution, workflow_schedule
from muster.store.types import is_storable

S = workflow_schedule.c
E = workflow_execution.c


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
