"""Workflows and their versions."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    case,
    false,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from muster.definitions.document import nodes_of, schedules_of
from muster.definitions.ports import Stale, Taken
from muster.definitions.trigger_settings import triggers_in
from muster.kit.clock import Clock
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry, NewVersion, Page, Version, Workflow
from muster.model.workflow import WorkflowKind, WorkflowStatus, WorkflowType
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import insert_rows, violated_key
from muster.store.dialect import now as database_now
from muster.store.graphs import edge_rows, node_rows
from muster.store.paging import read_page
from muster.store.schedule_rows import replace_defined, switch_off_all, switch_on_again
from muster.store.tables import (
    ID_LENGTH,
    NAME_LENGTH,
    workflow,
    workflow_edge,
    workflow_node,
    workflow_version,
)
from muster.store.trigger_rows import free_paths, replace_triggers
from muster.store.types import is_storable
from muster.store.wait_topics import listen_for

# SQLite refuses patterns of more than 50,000 bytes.
LONGEST_QUERY = 1_000
HIGHEST_NUMBER = 2**31 - 1


class WorkflowRepository:
    """`definitions.ports.Workflows` on a database. A workflow's name, description and type are those of the
    version that was saved last; every change first locks the workflow's row, so changes come one by one."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def create(
        self, workflow_id: str, key: str, version: NewVersion, status: WorkflowStatus, audit: AuditEntry
    ) -> Workflow:
        now = self._clock.now()

        def work(connection: Connection) -> Workflow:
            row = _head(version, now) | {
                "id": workflow_id,
                "key": key,
                "kind": WorkflowKind.ORCHESTRATED.value,
                "status": status.value,
                "institute_id": version.definition.institute_id,
                "created_by_user_id": version.definition.created_by_user_id,
                "created_at": now,
            }
            insert_rows(connection, workflow, [row])
            version_id = _add_version(connection, workflow_id, 1, version, now)
            if status is not WorkflowStatus.DRAFT:
                _set(connection, workflow_id, {"active_version_id": version_id})
            if status is WorkflowStatus.ACTIVE:
                _begin_to_apply(connection, workflow_id, version_id, version.document)
            add_audit(connection, audit, now)
            return _require(connection, workflow_id)

        try:
            return await self._database.write(work)
        except IntegrityError as error:
            if violated_key(error, workflow) == ("institute_id", "key"):
                raise Taken(key) from None
            raise

    async def add_version(
        self, workflow_id: str, version: NewVersion, expected: int | None, activate: bool, audit: AuditEntry
    ) -> Version | None:
        now = self._clock.now()

        def work(connection: Connection) -> Version | None:
            latest = _lock(connection, workflow_id, expected)
            if latest is None:
                return None
            version_id = _add_version(connection, workflow_id, latest + 1, version, now)
            _set(connection, workflow_id, _head(version, now) | (_active(version_id) if activate else {}))
            if activate:
                _begin_to_apply(connection, workflow_id, version_id, version.document)
            add_audit(connection, audit, now)
            return version_in(_version_row(connection, workflow_version.c.id == version_id))

        return await self._database.write(work)

    async def activate(
        self, workflow_id: str, number: int, expected: int | None, audit: AuditEntry
    ) -> Workflow | None:
        def change(connection: Connection) -> dict[str, object] | None:
            row = connection.execute(_numbered(workflow_id, number)).first()
            if row is None:
                return None
            _begin_to_apply(connection, workflow_id, row.id, row.definition)
            return _active(row.id)

        return await self._change(workflow_id, expected, change, audit)

    async def archive(self, workflow_id: str, expected: int | None, audit: AuditEntry) -> Workflow | None:
        def change(connection: Connection) -> dict[str, object]:
            switch_off_all(connection, workflow_id, database_now(connection))
            free_paths(connection, workflow_id)
            return {"status": WorkflowStatus.ARCHIVED.value}

        return await self._change(workflow_id, expected, change, audit)

    async def _change(
        self,
        workflow_id: str,
        expected: int | None,
        change: Callable[[Connection], dict[str, object] | None],
        audit: AuditEntry,
    ) -> Workflow | None:
        now = self._clock.now()

        def work(connection: Connection) -> Workflow | None:
            if _lock(connection, workflow_id, expected) is None or (values := change(connection)) is None:
                return None
            _set(connection, workflow_id, values | {"updated_at": now})
            add_audit(connection, audit, now)
            return _require(connection, workflow_id)

        return await self._database.write(work)

    async def get(self, institute_id: str | None, id_or_key: str) -> Workflow | None:
        if not is_storable(id_or_key, NAME_LENGTH):
            return None
        lookup = _lookup(institute_id is not None, len(id_or_key) <= ID_LENGTH)
        given = {"wanted": id_or_key, "tenant": institute_id}
        row = await self._database.read(
            lambda connection: connection.execute(lookup, given).first(), single=True
        )
        return None if row is None else workflow_in(row)

    async def version(self, workflow_id: str, number: int) -> Version | None:
        row = await self._database.read(
            lambda connection: connection.execute(_numbered(workflow_id, number)).first()
        )
        return None if row is None else version_in(row)

    async def document(self, version_id: int) -> JsonObject:
        """The document of a version, whoever's it is. Raises `LookupError` if there is none."""
        wanted = select(workflow_version.c.definition).where(workflow_version.c.id == version_id)
        found = await self._database.read(lambda connection: connection.execute(wanted).first())
        if found is None:
            raise LookupError(f"there is no version with the id {version_id}")
        document: JsonObject = found.definition
        return document

    async def versions(self, workflow_id: str, page: Page) -> tuple[Sequence[Version], str | None]:
        wanted = select(workflow_version).where(workflow_version.c.workflow_id == workflow_id)
        order = [workflow_version.c.version]
        return await self._database.read(
            lambda connection: read_page(
                connection, "versions", wanted, order, page, version_in, newest_first=True
            )
        )

    async def list(
        self, institute_id: str | None, page: Page, status: WorkflowStatus | None, query: str | None
    ) -> tuple[Sequence[Workflow], str | None]:
        if query and not is_storable(query, LONGEST_QUERY):
            return [], None
        wanted = _workflows().where(*_of(institute_id), _with_status(status))
        if query:
            parts = [column.icontains(query, autoescape=True) for column in (workflow.c.name, workflow.c.key)]
            wanted = wanted.where(or_(*parts))
        return await self._database.read(
            lambda connection: read_page(
                connection, "workflows", wanted, [workflow.c.id], page, workflow_in, newest_first=True
            )
        )

    async def keys_like(self, institute_id: str, prefix: str) -> frozenset[str]:
        if not is_storable(prefix, NAME_LENGTH):
            return frozenset()
        begins = or_(workflow.c.key == prefix, workflow.c.key.startswith(f"{prefix}-", autoescape=True))
        wanted = select(workflow.c.key).where(*_of(institute_id), begins)
        keys = await self._database.read(lambda connection: connection.execute(wanted).scalars().all())
        numbered = re.compile(re.escape(prefix) + r"(-[0-9]+)?")
        return frozenset(key for key in keys if numbered.fullmatch(key))


def _workflows() -> Select[Any]:
    """Those that Muster runs."""
    return workflows_of_kind(WorkflowKind.ORCHESTRATED)


def workflows_of_kind(kind: WorkflowKind) -> Select[Any]:
    """Workflows with the numbers of their active and their latest version."""
    active = workflow_version.alias("active")
    latest = (
        select(func.max(workflow_version.c.version))
        .where(workflow_version.c.workflow_id == workflow.c.id)
        .scalar_subquery()
    )
    return (
        select(workflow, active.c.version.label("active_version"), latest.label("latest_version"))
        .outerjoin_from(workflow, active, active.c.id == workflow.c.active_version_id)
        .where(workflow.c.kind == kind.value)
    )


def _of(institute_id: str | None) -> list[ColumnElement[bool]]:
    return [] if institute_id is None else [workflow.c.institute_id == institute_id]


def _with_status(status: WorkflowStatus | None) -> ColumnElement[bool]:
    if status is None:
        return workflow.c.status != WorkflowStatus.ARCHIVED.value
    return workflow.c.status == status.value


@lru_cache(maxsize=4)
def _lookup(of_a_tenant: bool, may_be_an_id: bool) -> Select[Any]:
    """An id before a key; across tenants a key may be in use more than once: it is the first tenant's.
    (Made once: that takes longer than running it, and every start does.)"""
    wanted: BindParameter[str] = bindparam("wanted", type_=workflow.c.key.type)
    is_id = workflow.c.id == wanted if may_be_an_id else false()
    tenants = [workflow.c.institute_id == bindparam("tenant")] if of_a_tenant else []
    return (
        _workflows()
        .where(or_(is_id, workflow.c.key == wanted), *tenants)
        .order_by(case((is_id, 0), else_=1), workflow.c.institute_id)
        .limit(1)
    )


def _numbered(workflow_id: str, number: int) -> Select[Any]:
    possible = workflow_version.c.version == number if 0 < number <= HIGHEST_NUMBER else false()
    return select(workflow_version).where(workflow_version.c.workflow_id == workflow_id, possible)


def _lock(connection: Connection, workflow_id: str, expected: int | None) -> int | None:
    """Hold the workflow's row until the transaction ends; the number of its latest version. None: no such
    workflow. Raises `Stale`."""
    held = select(workflow.c.id).where(workflow.c.id == workflow_id).with_for_update()
    if connection.execute(held).first() is None:
        return None
    # A statement of its own: one that had waited for the lock could still see the numbers from before.
    numbers = select(func.max(workflow_version.c.version)).where(
        workflow_version.c.workflow_id == workflow_id
    )
    latest: int = connection.execute(numbers).scalar_one()
    if expected is not None and expected != latest:
        raise Stale(latest)
    return latest


def _add_version(
    connection: Connection, workflow_id: str, number: int, version: NewVersion, now: datetime
) -> int:
    row = {
        "workflow_id": workflow_id,
        "version": number,
        "definition": version.document,
        "checksum": version.checksum,
        "created_by": version.created_by,
        "created_at": now,
    }
    written = connection.execute(insert(workflow_version).values(row)).inserted_primary_key
    assert written is not None  # a single row always has one
    version_id: int = written[0]
    insert_rows(connection, workflow_node, node_rows(version_id, version.definition))
    insert_rows(connection, workflow_edge, edge_rows(version_id, version.definition))
    return version_id


def _begin_to_apply(connection: Connection, workflow_id: str, version_id: int, document: JsonObject) -> None:
    """What comes from the definition of the active version, beside its executions."""
    whose = select(workflow.c.institute_id).where(workflow.c.id == workflow_id)
    tenant: str = connection.execute(whose).scalar_one()
    at = database_now(connection)
    replace_defined(connection, workflow_id, tenant, version_id, schedules_of(document), at)
    switch_on_again(connection, workflow_id, at)
    replace_triggers(connection, workflow_id, tenant, triggers_in(nodes_of(document)), at)
    listen_for(connection, document)


def _head(version: NewVersion, now: datetime) -> dict[str, object]:
    definition = version.definition
    return {
        "name": definition.name or "",
        "description": definition.description,
        "workflow_type": definition.workflow_type.value,
        "updated_at": now,
    }


def _active(version_id: int) -> dict[str, object]:
    return {"active_version_id": version_id, "status": WorkflowStatus.ACTIVE.value}


def _set(connection: Connection, workflow_id: str, values: dict[str, object]) -> None:
    connection.execute(update(workflow).where(workflow.c.id == workflow_id).values(values))


def _require(connection: Connection, workflow_id: str) -> Workflow:
    return workflow_in(connection.execute(_workflows().where(workflow.c.id == workflow_id)).one())


def _version_row(connection: Connection, condition: ColumnElement[bool]) -> Row[Any]:
    return connection.execute(select(workflow_version).where(condition)).one()


def workflow_in(row: Row[Any]) -> Workflow:
    return Workflow(
        id=row.id,
        key=row.key,
        name=row.name,
        description=row.description,
        kind=WorkflowKind(row.kind),
        status=WorkflowStatus(row.status),
        workflow_type=WorkflowType(row.workflow_type),
        institute_id=row.institute_id,
        created_by_user_id=row.created_by_user_id,
        active_version=row.active_version,
        active_version_id=row.active_version_id,
        latest_version=row.latest_version,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def version_in(row: Row[Any]) -> Version:
    return Version(
        id=row.id,
        workflow_id=row.workflow_id,
        number=row.version,
        document=row.definition,
        checksum=row.checksum,
        created_by=row.created_by,
        created_at=row.created_at,
    )
