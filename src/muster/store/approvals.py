"""Approvals: asked for by a node that waits, decided by a person, each once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from muster.engine.openings import ApprovalOpening, Closing
from muster.model.approval import Approval, ApprovalStatus, Decided, Decision
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry, Page
from muster.store.answers import Answer, give
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import insert_new, insert_rows, now
from muster.store.paging import read_page
from muster.store.tables import NAME_LENGTH, approval, approval_assignee, workflow_execution
from muster.store.types import is_storable

A = approval.c
OPEN = ApprovalStatus.OPEN.value
BECOMES = {Decision.APPROVE: ApprovalStatus.APPROVED, Decision.REJECT: ApprovalStatus.REJECTED}


def open_approvals(connection: Connection, execution_id: str, asked: Sequence[ApprovalOpening]) -> None:
    """Ask people, each once."""
    rows = [_row(execution_id, each) for each in asked]
    fresh = insert_new(connection, approval, rows, ("id",))
    named = [
        {"assignee": assignee, "approval_id": each.id}
        for each in asked
        if (each.id,) in fresh
        for assignee in dict.fromkeys(each.assignees)
    ]
    insert_rows(connection, approval_assignee, named)


def close_approvals(
    connection: Connection, execution_id: str, closing: Closing, status: ApprovalStatus
) -> None:
    """Nobody waits for what these visits have asked: it cannot be decided any more."""
    for node, visit in closing.visits:
        asked = (A.execution_id == execution_id, A.node_id == node, A.visit == visit, A.status == OPEN)
        over = {"status": status.value, "reason": closing.reason}
        connection.execute(update(approval).where(*asked).values(over))


def visits_asking(connection: Connection, execution_id: str) -> set[tuple[str, int]]:
    """The visits of an execution that wait for decisions."""
    asked = select(A.node_id, A.visit).where(A.execution_id == execution_id, A.status == OPEN)
    return {(row.node_id, row.visit) for row in connection.execute(asked)}


class ApprovalRepository:
    """`nodes.approving.Approvals` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, institute_id: str | None, approval_id: str) -> Approval | None:
        if not is_storable(approval_id, NAME_LENGTH):
            return None
        wanted = select(approval).where(A.id == approval_id)
        if institute_id is not None:
            wanted = wanted.where(A.institute_id == institute_id)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else _approval(row)

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        status: ApprovalStatus | None = None,
        assignee: str | None = None,
        execution_id: str | None = None,
    ) -> tuple[Sequence[Approval], str | None]:
        wanted = select(approval)
        if institute_id is not None:
            wanted = wanted.where(A.institute_id == institute_id)
        if status is not None:
            wanted = wanted.where(A.status == status.value)
        if execution_id is not None:
            wanted = wanted.where(A.execution_id == execution_id)
        if assignee is not None:
            asked = approval_assignee.c
            wanted = wanted.join(approval_assignee, asked.approval_id == A.id)
            wanted = wanted.where(asked.assignee == assignee)
        return await self._database.read(
            lambda connection: read_page(
                connection, "approvals", wanted, [A.id], page, _approval, newest_first=True
            )
        )

    async def decide(self, asked: Approval, decided: Decided, audit: AuditEntry) -> bool:
        def work(connection: Connection) -> bool:
            # The execution first, as everybody does who changes what it waits for.
            execution = workflow_execution.c
            held = select(execution.id).where(execution.id == asked.execution_id).with_for_update()
            connection.execute(held).first()
            at = now(connection)
            if asked.expires_at is not None and asked.expires_at <= at:
                return False
            still_open = update(approval).where(A.id == asked.id, A.status == OPEN)
            if connection.execute(still_open.values(_decided(decided, at))).rowcount == 0:
                return False
            visit = (asked.execution_id, asked.node_id, asked.visit)
            give(connection, [Answer(*visit, asked.id, _answer(decided, at))])
            add_audit(connection, audit, at)
            return True

        return await self._database.write(work)


def _decided(decided: Decided, at: datetime) -> dict[str, object]:
    return {
        "status": BECOMES[decided.decision].value,
        "form": decided.form,
        "reason": decided.reason,
        "decided_by": decided.by,
        "decided_at": at,
    }


def _answer(decided: Decided, at: datetime) -> JsonObject:
    return {
        "decision": decided.decision.value,
        "form": decided.form,
        "reason": decided.reason,
        "decidedBy": decided.by,
        "decidedAt": at.isoformat(),
    }


def _row(execution_id: str, asked: ApprovalOpening) -> dict[str, object]:
    return {
        "id": asked.id,
        "execution_id": execution_id,
        "node_id": asked.node,
        "visit": asked.visit,
        "workflow_id": asked.workflow_id,
        "institute_id": asked.institute_id,
        "status": OPEN,
        "title": asked.title,
        "message": asked.message,
        "assignees": list(asked.assignees),
        "form_schema": asked.form,
        "expires_at": asked.expires_at,
        "created_at": asked.created_at,
    }


def _approval(row: Row[Any]) -> Approval:
    return Approval(
        id=row.id,
        execution_id=row.execution_id,
        node_id=row.node_id,
        visit=row.visit,
        workflow_id=row.workflow_id,
        institute_id=row.institute_id,
        status=ApprovalStatus(row.status),
        title=row.title,
        message=row.message,
        assignees=tuple(row.assignees),
        form_schema=row.form_schema,
        form=row.form,
        reason=row.reason,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
        expires_at=row.expires_at,
        created_at=row.created_at,
    )
