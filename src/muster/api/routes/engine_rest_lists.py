"""External tasks as Camunda's tools look at them: those that are open."""

from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Depends, Path, Query, Response

from muster.api.answers import JsonAnswer, answer
from muster.api.camunda.bodies import version_id
from muster.api.camunda.described import LISTED, spoken
from muster.api.camunda.guard import Reader
from muster.api.camunda.told import CamundaCount, CamundaTask, task_told
from muster.api.describe import described
from muster.api.moments import ZonelessMoment
from muster.api.parts import Given, Parts
from muster.api.problems import Code
from muster.definitions.library import NotFound
from muster.model.access import Caller, Role
from muster.model.external_task import ExternalTask, TaskStatus
from muster.nodes.working import TaskFilter

# Parameters that Muster has no use for are passed over.
router = APIRouter(tags=["external tasks"])

BASE = "/engine-rest/external-task"
Id = Annotated[str, Path(description="A task's id.")]
MOST_LISTED = 1000
LARGEST = 2**63 - 1
_LOOK = (Code.INVALID_PARAMETER, Code.UNAVAILABLE)
SortBy = Literal[
    "id",
    "createTime",
    "lockExpirationTime",
    "processInstanceId",
    "processDefinitionId",
    "processDefinitionKey",
    "tenantId",
    "taskPriority",
]


async def _wanted(
    externalTaskId: str | None = None,
    externalTaskIdIn: Annotated[str | None, Query(description="Ids, with commas.")] = None,
    topicName: str | None = None,
    workerId: str | None = None,
    locked: bool | None = None,
    notLocked: bool | None = None,
    withRetriesLeft: bool | None = None,
    noRetriesLeft: bool | None = None,
    lockExpirationBefore: ZonelessMoment | None = None,
    lockExpirationAfter: ZonelessMoment | None = None,
    activityId: str | None = None,
    processInstanceId: Annotated[str | None, Query(description="An execution's id.")] = None,
    executionId: Annotated[str | None, Query(description="The same.")] = None,
    processDefinitionId: Annotated[str | None, Query(description="A version's id.")] = None,
    processDefinitionKey: Annotated[str | None, Query(description="A workflow's key.")] = None,
    tenantIdIn: Annotated[str | None, Query(description="Institutes, with commas.")] = None,
    priorityHigherThanOrEquals: Annotated[int | None, Query(ge=-LARGEST, le=LARGEST)] = None,
    priorityLowerThanOrEquals: Annotated[int | None, Query(ge=-LARGEST, le=LARGEST)] = None,
) -> TaskFilter:
    named = [*_split(externalTaskId), *_split(externalTaskIdIn)]
    return TaskFilter(
        ids=tuple(named) or None,
        status=TaskStatus.OPEN,
        topic=topicName,
        worker=workerId,
        execution_id=processInstanceId or executionId,
        node_id=activityId,
        workflow_key=processDefinitionKey,
        version_id=None if processDefinitionId is None else version_id(processDefinitionId),
        institute_ids=tuple(_split(tenantIdIn)) or None,
        locked=_either(locked, notLocked),
        has_retries=_either(withRetriesLeft, noRetriesLeft),
        lock_ends_before=lockExpirationBefore,
        lock_ends_after=lockExpirationAfter,
        priority_from=priorityHigherThanOrEquals,
        priority_to=priorityLowerThanOrEquals,
    )


Wanted = Annotated[TaskFilter, Depends(_wanted)]


def _split(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def _either(yes: bool | None, no: bool | None) -> bool | None:
    """Two flags that say one thing: what is false says nothing, as with Camunda."""
    return True if yes else (False if no else None)


@router.get(
    BASE,
    summary="List open tasks, as Camunda does",
    **spoken(described(None, *_LOOK, role=Role.VIEWER, content=LISTED)),
)
async def list_tasks(
    caller: Reader,
    parts: Given,
    wanted: Wanted,
    sortBy: SortBy | None = None,
    sortOrder: Literal["asc", "desc"] = "asc",
    firstResult: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    maxResults: Annotated[int, Query(ge=0, le=MOST_LISTED)] = MOST_LISTED,
) -> Response:
    order = [] if sortBy is None else [(sortBy, sortOrder == "desc")]
    found = await parts.working.lists.range(caller.institute_id, wanted, order, firstResult, maxResults)
    return JsonAnswer(orjson.dumps([task_told(task) for task in found]), 200)


@router.get(
    f"{BASE}/count",
    summary="Count open tasks",
    **spoken(described(CamundaCount, *_LOOK, role=Role.VIEWER)),
)
async def count_tasks(caller: Reader, parts: Given, wanted: Wanted) -> Response:
    return answer(CamundaCount(count=await parts.working.lists.count(caller.institute_id, wanted)))


@router.get(
    f"{BASE}/topic-names",
    summary="List the topics of open tasks",
    **spoken(
        described(
            None,
            Code.UNAVAILABLE,
            role=Role.VIEWER,
            content={"application/json": {"schema": {"type": "array", "items": {"type": "string"}}}},
        )
    ),
)
async def topic_names(caller: Reader, parts: Given) -> Response:
    return JsonAnswer(orjson.dumps([*await parts.working.lists.topics(caller.institute_id)]), 200)


@router.get(
    f"{BASE}/{{id}}",
    summary="Read an open task",
    **spoken(described(CamundaTask, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER)),
)
async def get_task(id: Id, caller: Reader, parts: Given) -> Response:
    return JsonAnswer(orjson.dumps(task_told(await _open(parts, id, caller))), 200)


@router.get(
    f"{BASE}/{{id}}/errorDetails",
    summary="Read what a worker last said went wrong with a task",
    **spoken(
        described(
            None,
            Code.NOT_FOUND,
            Code.UNAVAILABLE,
            role=Role.VIEWER,
            content={"text/plain": {"schema": {"type": "string"}}},
            also={204: None},
        )
    ),
)
async def error_details(id: Id, caller: Reader, parts: Given) -> Response:
    told = (await _open(parts, id, caller)).error_details
    return Response(status_code=204) if told is None else Response(told, media_type="text/plain")


async def _open(parts: Parts, task_id: str, caller: Caller) -> ExternalTask:
    found = await parts.working.lists.get(caller.institute_id, task_id)
    if found is None or found.status is not TaskStatus.OPEN:
        raise NotFound(f"External task with id {task_id[:200]} does not exist")
    return found
