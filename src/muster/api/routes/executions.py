"""Executions: start them, look at them."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.direct import Call
from muster.api.execution_answers import as_it_is, item_of, node_of, outcome_of, whole_of
from muster.api.execution_shapes import (
    KEY_LENGTH,
    TAG_LENGTH,
    Duplicate,
    EndedOrDuplicate,
    Execute,
    ExecutionPage,
    ExecutionWhole,
    NodePage,
    Started,
)
from muster.api.guard import Operator, Viewer, recognised
from muster.api.listing import Listed
from muster.api.moments import Moment
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_body
from muster.api.strict import StrictRoute
from muster.api.tracing import current
from muster.api.wording import must
from muster.definitions.library import NotFound
from muster.engine.control import Start
from muster.engine.idempotency import Keyed, key_of_request
from muster.engine.owned import Begun
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.access import Caller, Role
from muster.model.execution import ExecutionDetail, NodeStatus, Wanted, WantedNodes
from muster.model.problems import Problem

router = APIRouter(route_class=StrictRoute, tags=["executions"])

EXECUTE = "/api/workflow/execute"
LONGEST_WAIT = 60.0
Id = Annotated[str, Path(description="An execution's id.")]
Digest = Annotated[str, Path(max_length=64, description="The value's SHA-256, as the execution shows it.")]
Wait = Annotated[
    float | None,
    Query(
        ge=0,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        description="Wait up to so many seconds for the result, and answer it.",
    ),
]
KEY_HEADER = "Idempotency-Key"
_KEY = "Of all starts of the workflow with this key one begins, and the others are told its id."
KeyHeader = Annotated[
    str | None, Header(alias=KEY_HEADER, min_length=1, max_length=KEY_LENGTH, description=_KEY)
]
_Q = "How a value that the workflow's `search` names begins, or a word in it; in any case."
_EXAMPLE = {"key": "hello", "context": {"name": "Ada"}}


@router.post(
    EXECUTE,
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
        also={200: EndedOrDuplicate},
        notes="With a key, the first start begins; every other is told its id, `SKIPPED`, `DUPLICATE`, "
        "whatever else it says.",
    ),
)
async def execute(
    request: Request, caller: Operator, parts: Given, wait: Wait = None, key: KeyHeader = None
) -> Response:
    body = await read_body(request, Execute, parts.body_limit)
    begun = await parts.control.start(start_of(body, _key_of(request, body, key)), caller)
    if begun.duplicate:
        return answer(await _duplicate(begun, caller, parts, wait))
    if wait is None:
        return answer(Started(execution_id=begun.id, status=begun.status), 202)
    came = await parts.control.wait(begun.id, caller, wait)
    return answer(outcome_of(begun.id, came), 200 if came.status in FINAL else 202)


async def _execute_directly(request: Request, parts: Parts) -> Response:
    caller = await recognised(request, Role.OPERATOR)
    return await execute(request, caller, parts, key=_given_key(request))


DIRECT: Mapping[str, Call] = {EXECUTE: _execute_directly}


def start_of(body: Execute, key: Keyed | None) -> Start:
    if body.workflow_id is not None and body.key not in (None, body.workflow_id):
        raise wrong("/key", "`workflowId` and `key` both say which workflow: give one of them.")
    wanted = body.workflow_id or body.key
    if wanted is None:
        raise wrong("", "There should be a `workflowId` or a `key`.", "MISSING")
    trace = current.get().traceparent
    return Start(wanted, dict(body.context), body.version, tuple(body.tags), key, "/context", trace)


def _key_of(request: Request, body: Execute, header: str | None) -> Keyed | None:
    header = checked_key(request, header)
    if header is not None and body.idempotency_key not in (None, header):
        raise wrong("/idempotencyKey", "This is not the key that the header `Idempotency-Key` has.")
    key = header or body.idempotency_key
    return None if key is None else key_of_request(key)


def _given_key(request: Request) -> str | None:
    """The key that the header has. Raises `Refused`, as the framework would, if it cannot be one."""
    key = request.headers.get(KEY_HEADER)
    if key is None or 1 <= len(key) <= KEY_LENGTH:
        return key
    bound = "string_too_long" if key else "string_too_short"
    said = must(bound, {"max_length": KEY_LENGTH, "min_length": 1})
    problem = Problem("INVALID_VALUE", f"/header/{KEY_HEADER}", f"`{KEY_HEADER}` must {said}.")
    raise Refused(Code.INVALID_PARAMETER, problem.message, problems=[problem])


def checked_key(request: Request, header: str | None) -> str | None:
    """The header's key as a body would have it: headers are read as Latin-1, and most send UTF-8."""
    if len(request.headers.getlist(KEY_HEADER)) > 1:
        raise Refused(Code.INVALID_PARAMETER, f"The header `{KEY_HEADER}` is given more than once.")
    if header is None or header.isascii():
        return header
    try:
        return header.encode("latin-1").decode()
    except UnicodeDecodeError:
        return header


async def _duplicate(begun: Begun, caller: Caller, parts: Parts, wait: float | None) -> Duplicate:
    """With `?wait=`, who did not hear the first answer gets its result here."""
    if wait is None:
        return Duplicate(execution_id=begun.id)
    try:
        came = await parts.control.wait(begun.id, caller, wait)
    except NotFound:
        return Duplicate(execution_id=begun.id)  # it was removed since
    return Duplicate(execution_id=begun.id, result=outcome_of(begun.id, came))


@router.get(
    "/api/workflow/executions",
    summary="List executions",
    **described(
        ExecutionPage,
        Code.NOT_FOUND,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
    ),
)
async def list_executions(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[ExecutionStatus | None, Query()] = None,
    workflow: Annotated[str | None, Query(description="A workflow's id or key.")] = None,
    trigger: Annotated[str | None, Query(description="A trigger's id, or a schedule's.")] = None,
    idempotency_key: Annotated[str | None, Query(alias="idempotencyKey")] = None,
    started_from: Annotated[Moment | None, Query(alias="from")] = None,
    started_to: Annotated[Moment | None, Query(alias="to")] = None,
    tag: Annotated[str | None, Query(max_length=TAG_LENGTH)] = None,
    q: Annotated[str | None, Query(max_length=200, pattern=r"\S", description=_Q)] = None,
) -> Response:
    if workflow is not None:
        await parts.library.workflow(workflow, caller)  # a name that nothing has is a mistake
    wanted = Wanted(status, workflow, trigger, idempotency_key, started_from, started_to, tag, q)
    found, following = await parts.control.list(caller, wanted, listed)
    if trigger is not None and not found and listed.cursor is None:
        await _check_trigger(parts, trigger, caller)
    return answer(ExecutionPage(items=[item_of(row) for row in found], next_cursor=following))


async def _check_trigger(parts: Parts, trigger: str, caller: Caller) -> None:
    """Raises `NotFound` where no trigger and no schedule has this id. (One that was removed is still known by
    what it has started.)"""
    try:
        await parts.scheduling.get(trigger, caller)
    except NotFound:
        await parts.triggers.get(trigger, caller)


@router.get(
    "/api/workflow/sessions",
    summary="List what one idempotency key has begun",
    **described(
        ExecutionPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="The executions of the key in the order in which they began: one, unless the key had expired, "
        "or an earlier one failed and was to be tried again.",
    ),
)
async def list_session(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    key: Annotated[str, Query(min_length=1, description="The key, as executions show it.")],
    trigger: Annotated[str | None, Query(description="A trigger's id.")] = None,
) -> Response:
    found, following = await parts.control.session(caller, key, trigger, listed)
    return answer(ExecutionPage(items=[item_of(row) for row in found], next_cursor=following))


@router.get(
    "/api/workflow/executions/{id}",
    summary="Read an execution",
    **described(ExecutionWhole, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_execution(id: Id, caller: Viewer, parts: Given) -> Response:
    return answer(await whole_shown(parts, await parts.control.get(id, caller)))


async def whole_shown(parts: Parts, found: ExecutionDetail) -> ExecutionWhole:
    return await whole_of(parts.control, parts.following, parts.waiting.lists, found, parts.clock.now())


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
    status: Annotated[NodeStatus | None, Query(description="As the journal has it.")] = None,
    items: Annotated[
        bool | None, Query(description="`true`: only items of lists; `false`: only visits.")
    ] = None,
) -> Response:
    found = await parts.control.get(id, caller)
    types = await parts.control.node_types(found)
    rows, following = await parts.control.nodes(found, WantedNodes(node, visit, status, items), listed)
    shown = [node_of(id, as_it_is(row, found.row.status), types) for row in rows]
    return answer(NodePage(items=shown, next_cursor=following))


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
