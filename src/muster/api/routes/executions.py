"""Executions: start them, look at them, act on them by hand."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.execution_shapes import (
    Cancel,
    Ended,
    Execute,
    ExecutionError,
    ExecutionItem,
    ExecutionPage,
    ExecutionWhole,
    NodeItem,
    NodePage,
    Reason,
    Retry,
    Started,
    WaitItem,
)
from muster.api.guard import Operator, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused
from muster.api.reading import read_body, read_optional_body
from muster.api.strict import StrictRoute
from muster.engine.control import Start
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.access import Role
from muster.model.execution import ExecutionDetail, ExecutionRow, NodeRow, Wanted

router = APIRouter(route_class=StrictRoute, tags=["executions"])

LONGEST_WAIT = 60.0
Id = Annotated[str, Path(description="An execution's id.")]
Wait = Annotated[
    float | None,
    Query(ge=0, le=LONGEST_WAIT, description="Wait up to so many seconds for the result, and answer it."),
]
_EXAMPLE = {"key": "hello", "context": {"name": "Ada"}}


@router.post(
    "/api/workflow/execute",
    summary="Start an execution by hand",
    **described(
        Started,
        Code.INVALID_BODY,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.NOT_FOUND,
        Code.CONFLICT,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.OPERATOR,
        status=202,
        body=json_body(Execute, _EXAMPLE),
        also={200: Ended},
    ),
)
async def execute(request: Request, caller: Operator, parts: Given, wait: Wait = None) -> Response:
    body = await read_body(request, Execute, parts.body_limit)
    wanted = body.workflow_id or body.key
    if wanted is None:
        raise Refused(Code.INVALID_BODY, "There should be a `workflowId` or a `key`.")
    start = Start(wanted, dict(body.context), body.version, tuple(body.tags))
    execution_id = await parts.control.start(start, caller)
    if wait is None:
        return answer(Started(execution_id=execution_id, status=ExecutionStatus.RUNNING), 202)
    found = await parts.control.wait(execution_id, caller, wait)
    row = found.row
    ended = Ended(execution_id=row.id, status=row.status, output=found.output, error=_error(row))
    return answer(ended, 200 if row.status in FINAL else 202)


@router.get(
    "/api/workflow/executions",
    summary="List executions",
    **described(
        ExecutionPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER
    ),
)
async def list_executions(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[ExecutionStatus | None, Query()] = None,
    workflow: Annotated[str | None, Query(description="A workflow's id or key.")] = None,
    trigger: Annotated[str | None, Query()] = None,
    idempotency_key: Annotated[str | None, Query(alias="idempotencyKey")] = None,
    started_from: Annotated[datetime | None, Query(alias="from")] = None,
    started_to: Annotated[datetime | None, Query(alias="to")] = None,
) -> Response:
    wanted = Wanted(status, workflow, trigger, idempotency_key, started_from, started_to)
    found, following = await parts.control.list(caller, wanted, listed)
    return answer(ExecutionPage(items=[_item(row) for row in found], next_cursor=following))


@router.get(
    "/api/workflow/executions/{id}",
    summary="Read an execution",
    **described(ExecutionWhole, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_execution(id: Id, caller: Viewer, parts: Given) -> Response:
    return answer(await _whole(parts, await parts.control.get(id, caller)))


@router.get(
    "/api/workflow/executions/{id}/nodes",
    summary="Read an execution's journal, items included",
    **described(
        NodePage,
        Code.NOT_FOUND,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
    ),
)
async def list_nodes(id: Id, caller: Viewer, parts: Given, listed: Listed) -> Response:
    found = await parts.control.get(id, caller)
    types = await parts.control.node_types(found)
    rows, following = await parts.control.nodes(found, listed)
    return answer(NodePage(items=[_node(row, types) for row in rows], next_cursor=following))


ACTIONS = (
    Code.NOT_FOUND,
    Code.INVALID_BODY,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.CONFLICT,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)


@router.post(
    "/api/workflow/executions/{id}/pause",
    summary="Let nothing new begin in it",
    **described(
        ExecutionWhole,
        *ACTIONS,
        role=Role.OPERATOR,
        body=json_body(Reason, {"reason": "maintenance"}),
        body_optional=True,
    ),
)
async def pause(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    return answer(await _whole(parts, await parts.control.pause(id, caller, body.reason)))


@router.post(
    "/api/workflow/executions/{id}/resume",
    summary="Let it go on",
    **described(
        ExecutionWhole,
        *ACTIONS,
        role=Role.OPERATOR,
        body=json_body(Reason, {"reason": "done"}),
        body_optional=True,
    ),
)
async def resume(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    return answer(await _whole(parts, await parts.control.resume(id, caller, body.reason)))


@router.post(
    "/api/workflow/executions/{id}/cancel",
    summary="End it",
    **described(
        ExecutionWhole,
        *ACTIONS,
        role=Role.OPERATOR,
        body=json_body(Cancel, {"reason": "no longer needed"}),
        body_optional=True,
    ),
)
async def cancel(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Cancel, parts.body_limit)
    found = await parts.control.cancel(id, caller, body.reason, body.compensate)
    return answer(await _whole(parts, found))


@router.post(
    "/api/workflow/executions/{id}/retry",
    summary="Try it again, from where it failed or an earlier node",
    **described(
        ExecutionWhole,
        *ACTIONS,
        role=Role.OPERATOR,
        body=json_body(Retry, {"reason": "the server is back"}),
        body_optional=True,
    ),
)
async def retry(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Retry, parts.body_limit)
    found = await parts.control.retry(id, caller, body.reason, body.node, body.context, body.version)
    return answer(await _whole(parts, found))


@router.post(
    "/api/workflow/executions/{id}/replay",
    summary="Start anew with what it was started with",
    **described(
        Started,
        *ACTIONS,
        role=Role.OPERATOR,
        status=202,
        body=json_body(Reason, {"reason": "once more"}),
        body_optional=True,
    ),
)
async def replay(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    execution_id = await parts.control.replay(id, caller, body.reason)
    return answer(Started(execution_id=execution_id, status=ExecutionStatus.RUNNING), 202)


async def _whole(parts: Parts, found: ExecutionDetail) -> ExecutionWhole:
    types = await parts.control.node_types(found)
    return ExecutionWhole(
        **_item(found.row).model_dump(),
        context=found.context,
        output=found.output,
        nodes=[_node(row, types) for row in found.nodes],
        waits=[
            WaitItem(node_id=token.node, kind=token.phase, expires_at=token.due)
            for token in parts.control.parked(found)
        ],
    )


def _item(row: ExecutionRow) -> ExecutionItem:
    return ExecutionItem(
        id=row.id,
        workflow_id=row.workflow_id,
        key=row.key,
        version=row.version,
        status=row.status,
        tracking_status=_tracking(row.status),
        trigger_id=row.trigger_id,
        idempotency_key=row.idempotency_key,
        current_node_id=row.current_node_id,
        resume_at=row.resume_at,
        resumed_by=row.resumed_by,
        error=_error(row),
        tags=list(row.tags),
        institute_id=row.institute_id,
        started_at=row.started_at,
        completed_at=row.completed_at,
    )


def _tracking(status: str) -> str:
    """Processing until it ends; one that was cancelled counts as failed."""
    if status not in FINAL:
        return "PROCESSING"
    return "COMPLETED" if status == ExecutionStatus.COMPLETED else "FAILED"


def _error(row: ExecutionRow) -> ExecutionError | None:
    if row.error_type is None:
        return None
    return ExecutionError(type=row.error_type, message=row.error_message or "", node_id=row.current_node_id)


def _node(row: NodeRow, types: dict[str, str]) -> NodeItem:
    return NodeItem(
        node_id=row.node_id,
        type=types.get(row.node_id, ""),
        visit=row.visit,
        item_key=row.item_key,
        status=row.status,
        attempt=row.attempt,
        started_at=row.started_at,
        completed_at=row.completed_at,
        output=row.output,
        error=row.error,
        warnings=list(row.warnings),
    )
