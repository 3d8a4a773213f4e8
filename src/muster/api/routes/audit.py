"""The audit log."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.shapes import AuditPage, AuditRow
from muster.api.strict import StrictRoute
from muster.model.access import Role
from muster.model.stored import AuditRecord

router = APIRouter(route_class=StrictRoute, tags=["audit"])


@router.get(
    "/api/audit",
    summary="Read what was done to one thing, and by whom",
    **described(
        AuditPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first. A thing that nobody touched, or that is another institute's, has an empty list.",
    ),
)
async def list_audit(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    entity_type: Annotated[
        str, Query(alias="entityType", max_length=64, description="`workflow`, `execution`, `api_token`, …")
    ],
    entity_id: Annotated[str, Query(alias="entityId", max_length=255, description="The thing's id.")],
) -> Response:
    found, following = await parts.audit.list(caller.institute_id, entity_type, entity_id, listed)
    return answer(AuditPage(items=[_row(record) for record in found], next_cursor=following))


def _row(record: AuditRecord) -> AuditRow:
    return AuditRow(id=record.id, created_at=record.created_at, **asdict(record.entry))
