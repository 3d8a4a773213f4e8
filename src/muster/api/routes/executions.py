"""Executions: start them, look at them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.execution_answers import item_of, node_of, outcome_of, whole_of
from muster.api.execution_shapes import (
    TAG_LENGTH,
    Ended,
    Execute,
    ExecutionPage,
    ExecutionWhole,
    NodePage,
    Started,
)
from muster.api.guard import Operator, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.reading import read_body
from muster.api.strict import StrictRoute
from muster.engine.control import Start
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.access import Role
from muster.model.execution import Wanted, WantedNodes

router = APIRouter(route_class=StrictRoute, tags=["executions"])

LONGEST_WAIT = 60.0
Id = Annotated[str, Path(description="An execution's id.")]
Digest = Annotated[str, Path(max_length=64, description="The value's SHA-256, as the execution shows it.")]
Wait = Annotated[
    float | None,
    Query(ge=0, le=LONGEST_WAIT, description="Wait up to so many seconds for the result, and answer it."),
]
_Q = "How a value that the workflow's `search` names begins, or a word in it; in any case."
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
    begun = await parts.control.start(start_of(body), caller)
    if wait is None:
        return answer(Started(execution_id=begun.id, status=begun.status), 202)
    came = await parts.control.wait(begun.id, caller, wait)
    return answer(outcome_of(begun.id, came), 200 if came.status in FINAL else 202)


def start_of(body: Execute) -> Start:
    wanted = body.workflow_id or body.key
    if wanted is None:
        raise Refused(Code.INVALID_BODY, "There should be a `workflowId` or a `key`.")
    return Start(wanted, dict(body.context), body.version, tuple(body.tags))


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
    trigger: Annotated[str | None, Query(description="A trigger's id.")] = None,
    idempotency_key: Annotated[str | None, Query(alias="idempotencyKey")] = None,
    started_from: Annotated[datetime | None, Query(alias="from")] = None,
    started_to: Annotated[datetime | None, Query(alias="to")] = None,
    tag: Annotated[str | None, Query(max_length=TAG_LENGTH)] = None,
    q: Annotated[str | None, Query(max_length=200, pattern=r"\S", description=_Q)] = None,
) -> Response:
    wanted = Wanted(status, workflow, trigger, idempotency_key, started_from, started_to, tag, q)
    found, following = await parts.control.list(caller, wanted, listed)
    return answer(ExecutionPage(items=[item_of(row) for row in found], next_cursor=following))


@router.get(
    "/api/workflow/executions/{id}",
    summary="Read an execution",
    **described(ExecutionWhole, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_execution(id: Id, caller: Viewer, parts: Given) -> Response:
    return answer(await whole_of(parts.control, parts.following, await parts.control.get(id, caller)))


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
async def list_nodes(
    id: Id,
    caller: Viewer,
    parts: Given,
    listed: Listed,
    node: Annotated[str | None, Query(max_length=255, description="Only this node's.")] = None,
    visit: Annotated[int | None, Query(ge=1, le=2_147_483_647, description="Only this visit's.")] = None,
    status: Annotated[str | None, Query(max_length=32, description="`completed`, `failed` …")] = None,
    items: Annotated[
        bool | None, Query(description="`true`: only items of lists; `false`: only visits.")
    ] = None,
) -> Response:
    found = await parts.control.get(id, caller)
    types = await parts.control.node_types(found)
    rows, following = await parts.control.nodes(found, WantedNodes(node, visit, status, items), listed)
    return answer(NodePage(items=[node_of(id, row, types) for row in rows], next_cursor=following))


@router.get(
    "/api/workflow/executions/{id}/values/{sha256}",
    summary="Read a value that is too large to be shown where it belongs",
    **described(
        None, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER, content={"application/json": {"schema": {}}}
    ),
)
async def get_large_value(id: Id, sha256: Digest, caller: Viewer, parts: Given) -> Response:
    value = await parts.control.large_value(id, sha256, caller)
    return StreamingResponse(value, media_type="application/json")
