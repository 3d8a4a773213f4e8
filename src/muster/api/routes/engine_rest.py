"""External tasks for workers, as Camunda 7 has them: its clients need no other address than this one's."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel

from muster.api.answers import JsonAnswer
from muster.api.camunda import bodies
from muster.api.camunda.described import LISTED, spoken
from muster.api.camunda.guard import ByHand, Worker, WorkerOrOperator
from muster.api.camunda.told import fetched_told
from muster.api.describe import Arguments, described, json_body
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused
from muster.api.reading import read_body, read_optional_body
from muster.definitions.library import NotFound
from muster.engine.external_tasks import Refusal, Report, Unlock
from muster.engine.external_tasks import Refused as TaskRefused
from muster.model.access import Caller, Role

# What clients send beside, in the query and in bodies, is passed over.
router = APIRouter(tags=["external tasks"])

T = TypeVar("T")
BASE = "/engine-rest/external-task"
Id = Annotated[str, Path(description="A task's id.")]
_UNAVAILABLE = (Code.UNAVAILABLE, Code.OUTCOME_UNKNOWN)
_WORK = (Code.NOT_FOUND, Code.INVALID_PARAMETER, Code.UNSUPPORTED_MEDIA_TYPE, *_UNAVAILABLE)
_ADA: dict[str, object] = {"workerId": "ada"}
_SUM = {"paid": {"value": 12, "type": "Integer"}}


def _work(body: type[BaseModel], example: object, role: Role = Role.PRODUCER, notes: str = "") -> Arguments:
    optional = body is bodies.NoBody
    written = json_body(body, example)
    return spoken(
        described(None, *_WORK, role=role, status=204, body=written, body_optional=optional, notes=notes)
    )


@router.post(
    f"{BASE}/fetchAndLock",
    summary="Fetch tasks and lock them",
    **spoken(
        described(
            None,
            Code.INVALID_PARAMETER,
            Code.UNSUPPORTED_MEDIA_TYPE,
            *_UNAVAILABLE,
            role=Role.PRODUCER,
            content=LISTED,
            body=json_body(
                bodies.FetchBody,
                {**_ADA, "maxTasks": 1, "topics": [{"topicName": "charge-card", "lockDuration": 60000}]},
            ),
            notes=(
                "With `asyncResponseTimeout` it waits so long for tasks. A task is the worker's until its "
                "lock is over; then others get it."
            ),
        )
    ),
)
async def fetch_and_lock(request: Request, caller: Worker, parts: Given) -> Response:
    body = await read_body(request, bodies.FetchBody, parts.body_limit)
    wanted = {each.topic_name: each.variables for each in body.topics or ()}
    fetching = parts.working.fetch(body.asked(), caller, body.patience)
    found = await (while_there(request, fetching) if body.patience else fetching)
    told = [fetched_told(task, wanted[task.topic]) for task in found or ()]
    return JsonAnswer(orjson.dumps(told), 200)


@router.post(
    f"{BASE}/{{id}}/complete",
    summary="Complete a task",
    **_work(
        bodies.CompleteBody,
        {**_ADA, "variables": _SUM},
        notes="The execution goes on with the `variables`; `localVariables` stay with the node.",
    ),
)
async def complete(id: Id, request: Request, caller: Worker, parts: Given) -> Response:
    body = await read_body(request, bodies.CompleteBody, parts.body_limit)
    return await _reported(parts, id, body.report(), caller)


@router.post(
    f"{BASE}/{{id}}/failure",
    summary="Say that a task could not be done",
    **_work(
        bodies.FailureBody,
        {**_ADA, "errorMessage": "no answer", "retries": 2, "retryTimeout": 60000},
        notes="With retries left it is offered again after `retryTimeout`; without, the node fails.",
    ),
)
async def failure(id: Id, request: Request, caller: Worker, parts: Given) -> Response:
    body = await read_body(request, bodies.FailureBody, parts.body_limit)
    return await _reported(parts, id, body.report(), caller)


@router.post(
    f"{BASE}/{{id}}/bpmnError",
    summary="Report a business error",
    **_work(
        bodies.BpmnErrorBody,
        {**_ADA, "errorCode": "INSUFFICIENT_FUNDS"},
        notes="The node fails with this code as the error's type, and the `variables` as its `details`.",
    ),
)
async def bpmn_error(id: Id, request: Request, caller: Worker, parts: Given) -> Response:
    body = await read_body(request, bodies.BpmnErrorBody, parts.body_limit)
    return await _reported(parts, id, body.report(), caller)


@router.post(
    f"{BASE}/{{id}}/extendLock",
    summary="Extend a lock",
    **_work(bodies.ExtendLockBody, {**_ADA, "newDuration": 60000}, notes="From now on for so long."),
)
async def extend_lock(id: Id, request: Request, caller: Worker, parts: Given) -> Response:
    body = await read_body(request, bodies.ExtendLockBody, parts.body_limit)
    return await _reported(parts, id, body.report(), caller)


@router.post(
    f"{BASE}/{{id}}/lock",
    summary="Lock a certain task",
    **_work(bodies.LockBody, {**_ADA, "lockDuration": 60000}),
)
async def lock(id: Id, request: Request, caller: Worker, parts: Given) -> Response:
    body = await read_body(request, bodies.LockBody, parts.body_limit)
    return await _reported(parts, id, body.report(), caller)


@router.post(f"{BASE}/{{id}}/unlock", summary="Give a task back", **_work(bodies.NoBody, {}))
async def unlock(id: Id, request: Request, caller: WorkerOrOperator, parts: Given) -> Response:
    await read_optional_body(request, bodies.NoBody, parts.body_limit)
    return await _reported(parts, id, Unlock(), caller)


@router.put(
    f"{BASE}/{{id}}/retries",
    summary="Set how many attempts are left",
    **_work(bodies.RetriesBody, {"retries": 3}, Role.OPERATOR, "With 0, the node fails."),
)
async def set_retries(id: Id, request: Request, caller: ByHand, parts: Given) -> Response:
    body = await read_body(request, bodies.RetriesBody, parts.body_limit)
    return await _reported(parts, id, body.report(), caller)


@router.put(
    f"{BASE}/{{id}}/priority",
    summary="Set a task's priority",
    **_work(bodies.PriorityBody, {"priority": 10}, Role.OPERATOR),
)
async def set_priority(id: Id, request: Request, caller: ByHand, parts: Given) -> Response:
    body = await read_body(request, bodies.PriorityBody, parts.body_limit)
    return await _reported(parts, id, body.report(), caller)


async def _reported(parts: Parts, task_id: str, report: Report, caller: Caller) -> Response:
    verdict = await parts.working.report(task_id, report, caller)
    if isinstance(verdict, TaskRefused):
        if verdict.reason is Refusal.GONE:
            raise NotFound(verdict.message[:500])
        raise Refused(Code.INVALID_PARAMETER, verdict.message)
    return Response(status_code=204)


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """What comes of the work; None: whoever asked has left, and nothing more is done for them."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
