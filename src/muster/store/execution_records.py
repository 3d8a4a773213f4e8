"""Executions as they are read: one with its journal, or a page of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Row, Select, literal_column, or_, select

from muster.engine.items import NOT_AN_ITEM
from muster.engine.journal import COMPENSATION, SignalKind
from muster.engine.state import ExecutionStatus
from muster.model.aside import with_asides
from muster.model.execution import ExecutionDetail, ExecutionRow, NodeRow, NodeStatus, Wanted, WantedNodes
from muster.model.json import Json, JsonObject
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.finding import started_before, started_from, with_tag, with_value
from muster.store.large_values import read_part, read_values
from muster.store.paging import read_page
from muster.store.tables import (
    ID_LENGTH,
    execution_signal,
    node_execution,
    workflow,
    workflow_execution,
    workflow_version,
)
from muster.store.types import is_storable

E = workflow_execution.c
J = node_execution.c
S = execution_signal.c
LISTED = (
    E.id,
    E.workflow_id,
    workflow.c.key,
    workflow_version.c.version,
    E.workflow_version_id,
    E.institute_id,
    E.status,
    E.trigger_id,
    E.idempotency_key,
    E.parent_execution_id,
    E.current_node_id,
    E.resume_at,
    E.resumed_by,
    E.error_type,
    E.error_message,
    E.tags,
    E.started_at,
    E.completed_at,
)
DETAILED = (*LISTED, E.given, E.given_aside, E.context, E.output, E.state, E.aside, E.fence, E.trace_parent)
MOST_NODES = 1000
BY_HAND = (SignalKind.HOLD, SignalKind.RELEASE, SignalKind.CANCEL)


class ExecutionRecords:
    """`engine.control.Records` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, institute_id: str | None, execution_id: str) -> ExecutionDetail | None:
        if not is_storable(execution_id, ID_LENGTH):
            return None

        def work(connection: Connection) -> ExecutionDetail | None:
            wanted = of_tenant(joined(*DETAILED), institute_id).where(E.id == execution_id)
            row = connection.execute(wanted).first()
            if row is None:
                return None
            found = _detail(row, _nodes(connection, execution_id))
            undone, asked = _undone(connection, execution_id), _asked(connection, execution_id)
            return replace(found, undone=undone, asked=asked)

        return await self._database.read(work)

    async def list(
        self, institute_id: str | None, wanted: Wanted, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]:
        chosen = chosen_executions(institute_id, wanted, *LISTED)
        return await self._database.read(
            lambda connection: read_page(connection, "executions", chosen, [E.id], page, listed_of, True)
        )

    async def session(
        self, institute_id: str | None, key: str, trigger_id: str | None, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]:
        wanted = Wanted(trigger=trigger_id, idempotency_key=key)
        chosen = chosen_executions(institute_id, wanted, *LISTED)
        return await self._database.read(
            lambda connection: read_page(connection, "session", chosen, [E.id], page, listed_of)
        )

    async def large_values(self, execution_id: str, digests: Collection[str]) -> Mapping[str, Json]:
        return await self._database.read(lambda connection: read_values(connection, execution_id, digests))

    async def large_value_part(self, execution_id: str, digest: str, part: int) -> bytes | None:
        return await self._database.read(lambda connection: read_part(connection, execution_id, digest, part))

    async def nodes(
        self, execution_id: str, wanted: WantedNodes, page: Page
    ) -> tuple[Sequence[NodeRow], str | None]:
        chosen = _wanted_nodes(select(node_execution).where(J.execution_id == execution_id), wanted)
        order = [J.node_id, J.visit, J.item_key]
        return await self._database.read(
            lambda connection: read_page(connection, "journal", chosen, order, page, node_of)
        )


def joined(*columns: Any) -> Select[Any]:
    versions = workflow_version.c.id == E.workflow_version_id
    return (
        select(*columns)
        .join_from(workflow_execution, workflow_version, versions)
        .join(workflow, workflow.c.id == E.workflow_id)
    )


def of_tenant(chosen: Select[Any], institute_id: str | None) -> Select[Any]:
    return chosen if institute_id is None else chosen.where(E.institute_id == institute_id)


def chosen_executions(institute_id: str | None, wanted: Wanted, *columns: Any) -> Select[Any]:
    """These columns of the executions that are wanted, of those that the tenant sees."""
    return _filtered(of_tenant(joined(*columns), institute_id), wanted)


def _filtered(chosen: Select[Any], wanted: Wanted) -> Select[Any]:
    return chosen.where(*_conditions(wanted))


def _conditions(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    if wanted.status is not None:
        yield E.status == wanted.status
        if wanted.status != ExecutionStatus.COMPLETED:
            # As the index says it: which status is wanted is not known where the plan is made.
            yield E.status != literal_column("'COMPLETED'")
    if wanted.workflow is not None:
        named = or_(workflow.c.id == wanted.workflow, workflow.c.key == wanted.workflow)
        yield E.workflow_id.in_(select(workflow.c.id).where(named))
    if wanted.trigger is not None:
        yield E.trigger_id == wanted.trigger
    if wanted.idempotency_key is not None:
        yield E.idempotency_key == wanted.idempotency_key
    if wanted.started_from is not None:
        yield started_from(wanted.started_from)
    if wanted.started_to is not None:
        yield started_before(wanted.started_to)
    if wanted.tag is not None:
        yield with_tag(wanted.tag)
    if wanted.text is not None:
        yield with_value(wanted.text)


def _wanted_nodes(chosen: Select[Any], wanted: WantedNodes) -> Select[Any]:
    if wanted.node is not None:
        chosen = chosen.where(J.node_id == wanted.node)
    if wanted.visit is not None:
        chosen = chosen.where(J.visit == wanted.visit)
    if wanted.status is not None:
        chosen = chosen.where(J.status == wanted.status)
    if wanted.items is not None:
        chosen = chosen.where(J.item_key.not_in(NOT_AN_ITEM) if wanted.items else J.item_key.in_(NOT_AN_ITEM))
    return chosen


def _nodes(connection: Connection, execution_id: str) -> list[NodeRow]:
    """The visits in the order they came to their end; items are paged by `nodes`."""
    visits = select(node_execution).where(J.execution_id == execution_id, J.item_key == "")
    return [node_of(row) for row in connection.execute(visits.order_by(J.seq).limit(MOST_NODES + 1))]


def _undone(connection: Connection, execution_id: str) -> frozenset[tuple[str, int]]:
    rows = select(J.node_id, J.visit).where(
        J.execution_id == execution_id,
        J.item_key == COMPENSATION,
        J.status == NodeStatus.COMPENSATED,
    )
    return frozenset((row.node_id, row.visit) for row in connection.execute(rows.limit(MOST_NODES)))


def _asked(connection: Connection, execution_id: str) -> tuple[str, ...]:
    kinds = select(S.kind).where(S.execution_id == execution_id, S.kind.in_(BY_HAND), S.seq.is_(None))
    return tuple(connection.scalars(kinds.order_by(S.id)))


def listed_of(row: Row[Any]) -> ExecutionRow:
    return ExecutionRow(
        id=row.id,
        workflow_id=row.workflow_id,
        key=row.key,
        version=row.version,
        version_id=row.workflow_version_id,
        institute_id=row.institute_id,
        status=row.status,
        trigger_id=row.trigger_id,
        idempotency_key=row.idempotency_key,
        parent_id=row.parent_execution_id,
        current_node_id=row.current_node_id,
        resume_at=row.resume_at,
        resumed_by=row.resumed_by,
        error_type=row.error_type,
        error_message=row.error_message,
        tags=tuple(row.tags or ()),
        started_at=row.started_at,
        completed_at=row.completed_at,
    )


def _detail(row: Row[Any], nodes: Sequence[NodeRow]) -> ExecutionDetail:
    given = with_asides({"context": row.given}, row.given_aside)["context"]
    columns = with_asides({"context": row.context, "output": row.output, "state": row.state or {}}, row.aside)
    return ExecutionDetail(
        row=listed_of(row),
        given=cast("JsonObject", given),
        context=cast("JsonObject", columns["context"]),
        output=columns["output"],
        state=cast("JsonObject", columns["state"]),
        fence=row.fence,
        nodes=nodes[:MOST_NODES],
        more_nodes=len(nodes) > MOST_NODES,
        trace=row.trace_parent,
    )


def node_of(row: Row[Any]) -> NodeRow:
    came = with_asides({"output": row.output, "changes": row.changes}, row.aside)
    return NodeRow(
        node_id=row.node_id,
        visit=row.visit,
        item_key=row.item_key,
        seq=row.seq,
        status=NodeStatus(row.status),
        attempt=row.attempt,
        output=came["output"],
        error=row.error,
        warnings=tuple(row.warnings or ()),
        due_at=row.due_at,
        started_at=row.started_at,
        completed_at=row.completed_at,
        changes=cast("JsonObject | None", came["changes"]),
    )
