"""Watched workflows and their versions, in the same tables as those that Muster runs: their kind differs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from muster.definitions.ports import Stale, Taken
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry, Page, Version, Workflow
from muster.model.watching import WatchedGraph
from muster.model.workflow import EdgeType, WorkflowKind, WorkflowStatus, WorkflowType
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import insert_rows, violated_key
from muster.store.dialect import now as database_now
from muster.store.paging import read_page
from muster.store.tables import NAME_LENGTH, workflow, workflow_edge, workflow_node, workflow_version
from muster.store.types import is_storable
from muster.store.workflows import version_in, workflow_in, workflows_of_kind
from muster.watch.library import NewWatched

LONGEST_QUERY = 1_000
v = workflow_version.c


class WatchedWorkflowRepository:
    """`watch.library.WatchedStore` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, workflow_id: str, key: str, new: NewWatched, audit: AuditEntry
    ) -> tuple[Workflow, Version]:
        def work(connection: Connection) -> tuple[Workflow, Version]:
            now = database_now(connection)
            row = {
                "id": workflow_id,
                "key": key,
                "name": new.name,
                "description": new.description,
                "kind": WorkflowKind.WATCHED.value,
                "status": WorkflowStatus.ACTIVE.value,
                "workflow_type": WorkflowType.EVENT.value,
                "institute_id": new.institute_id,
                "created_by_user_id": new.created_by,
                "created_at": now,
                "updated_at": now,
            }
            insert_rows(connection, workflow, [row])
            version_id = _add_version(connection, workflow_id, 1, new, now)
            add_audit(connection, audit, now)
            return _require(connection, version_id)

        try:
            return await self._database.write(work)
        except IntegrityError as error:
            if violated_key(error, workflow) == ("institute_id", "key"):
                raise Taken(key) from None
            raise

    async def add_version(
        self, workflow_id: str, new: NewWatched, expected: int | None, audit: AuditEntry
    ) -> Version | None:
        def work(connection: Connection) -> Version | None:
            now = database_now(connection)
            held = select(workflow.c.id).where(workflow.c.id == workflow_id).with_for_update()
            if connection.execute(held).first() is None:
                return None
            numbers = select(func.max(v.version)).where(v.workflow_id == workflow_id)
            latest: int = connection.execute(numbers).scalar_one()
            if expected not in (None, latest):
                raise Stale(latest)
            version_id = _add_version(connection, workflow_id, latest + 1, new, now)
            add_audit(connection, audit, now)
            return _require(connection, version_id)[1]

        return await self._database.write(work)

    async def get(self, institute_id: str | None, id_or_key: str) -> Workflow | None:
        if not is_storable(id_or_key, NAME_LENGTH):
            return None
        is_id = workflow.c.id == id_or_key
        wanted = (
            _watched(institute_id)
            .where(or_(is_id, workflow.c.key == id_or_key))
            # Across tenants a key may be in use more than once: it is the first tenant's.
            .order_by(case((is_id, 0), else_=1), workflow.c.institute_id)
            .limit(1)
        )
        row = await self._database.read(lambda connection: connection.execute(wanted).first(), single=True)
        return None if row is None else workflow_in(row)

    async def version_of(self, institute_id: str | None, version_id: int) -> tuple[Workflow, Version] | None:
        def work(connection: Connection) -> tuple[Workflow, Version] | None:
            version = connection.execute(select(workflow_version).where(v.id == version_id)).first()
            if version is None:
                return None
            kind = WorkflowKind.ORCHESTRATED if _is_own(version.definition) else WorkflowKind.WATCHED
            owner = _of_kind(kind, institute_id).where(workflow.c.id == version.workflow_id)
            found = connection.execute(owner).first()
            return None if found is None else (workflow_in(found), version_in(version))

        return await self._database.read(work)

    async def list(
        self, institute_id: str | None, page: Page, query: str | None
    ) -> tuple[Sequence[Workflow], str | None]:
        if query and not is_storable(query, LONGEST_QUERY):
            return [], None
        wanted = _watched(institute_id).where(workflow.c.status != WorkflowStatus.ARCHIVED.value)
        if query:
            parts = [column.icontains(query, autoescape=True) for column in (workflow.c.name, workflow.c.key)]
            wanted = wanted.where(or_(*parts))
        return await self._database.read(
            lambda connection: read_page(
                connection, "watched", wanted, [workflow.c.id], page, workflow_in, newest_first=True
            )
        )

    async def version(self, workflow_id: str, number: int) -> Version | None:
        wanted = select(workflow_version).where(v.workflow_id == workflow_id, v.version == number)
        row = await self._database.read(lambda connection: connection.execute(wanted).first(), single=True)
        return None if row is None else version_in(row)

    async def versions(self, workflow_id: str, page: Page) -> tuple[Sequence[Version], str | None]:
        wanted = select(workflow_version).where(v.workflow_id == workflow_id)
        return await self._database.read(
            lambda connection: read_page(
                connection, "versions", wanted, [v.version], page, version_in, newest_first=True
            )
        )


def _watched(institute_id: str | None) -> Select[Any]:
    return _of_kind(WorkflowKind.WATCHED, institute_id)


def _of_kind(kind: WorkflowKind, institute_id: str | None) -> Select[Any]:
    conditions: list[ColumnElement[bool]] = []
    if institute_id is not None:
        conditions.append(workflow.c.institute_id == institute_id)
    return workflows_of_kind(kind).where(*conditions)


def _is_own(document: JsonObject) -> bool:
    """Whether it is one that Muster runs, and watches."""
    head = document.get("workflow")
    return isinstance(head, dict) and head.get("watch") is True


def _add_version(
    connection: Connection, workflow_id: str, number: int, new: NewWatched, now: datetime
) -> int:
    """The version with its nodes and edges, active at once."""
    row = {
        "workflow_id": workflow_id,
        "version": number,
        "definition": new.document,
        "checksum": new.checksum,
        "created_by": new.created_by,
        "created_at": now,
    }
    written = connection.execute(insert(workflow_version).values(row)).inserted_primary_key
    assert written is not None  # a single row always has one
    version_id: int = written[0]
    insert_rows(connection, workflow_node, _node_rows(version_id, new.graph))
    insert_rows(connection, workflow_edge, _edge_rows(version_id, new.graph, new.document))
    active = {
        "active_version_id": version_id,
        "name": new.name,
        "description": new.description,
        "updated_at": now,
    }
    connection.execute(update(workflow).where(workflow.c.id == workflow_id).values(active))
    return version_id


def _node_rows(version_id: int, graph: WatchedGraph) -> list[dict[str, object]]:
    return [
        {
            "workflow_version_id": version_id,
            "node_key": node.key,
            "event_type": node.event_type,
            "node_order": order,
            "is_start_node": node.start,
            "is_end_node": node.terminal,
        }
        for order, node in enumerate(graph.nodes)
    ]


def _edge_rows(version_id: int, graph: WatchedGraph, document: JsonObject) -> list[dict[str, object]]:
    drawn = document["graph"]
    told = drawn.get("edges", []) if isinstance(drawn, dict) else []
    assert isinstance(told, list)  # it was read as one
    return [
        {
            "workflow_version_id": version_id,
            "from_node_key": edge.source,
            "to_node_key": edge.target,
            "type": EdgeType.GOTO.value,
            "max_latency_sec": edge.max_latency_sec,
            "absolute_deadline": written.get("absoluteDeadline") if isinstance(written, dict) else None,
            "expected_count": edge.expected_count,
            "optional": edge.optional,
            "severity": edge.severity.value,
        }
        for edge, written in zip(graph.edges, told, strict=True)
    ]


def _require(connection: Connection, version_id: int) -> tuple[Workflow, Version]:
    version = connection.execute(select(workflow_version).where(v.id == version_id)).one()
    owner = _watched(None).where(workflow.c.id == version.workflow_id)
    return workflow_in(connection.execute(owner).one()), version_in(version)
