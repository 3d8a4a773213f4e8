"""External tasks for people: what is offered to workers, who has it, and what became of it."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.strict import StrictRoute
from muster.api.task_shapes import ExternalTaskItem, ExternalTaskPage
from muster.definitions.library import NotFound
from muster.model.access import Role
from muster.model.external_task import TaskStatus
from muster.nodes.working import TaskFilter

router = APIRouter(route_class=StrictRoute, tags=["external tasks"])


@router.get(
    "/api/external-tasks",
    summary="List external tasks",
    **described(
        ExternalTaskPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_external_tasks(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[TaskStatus | None, Query()] = None,
    topic: Annotated[str | None, Query(max_length=255)] = None,
    worker: Annotated[str | None, Query(max_length=255, description="Who has it, or had it last.")] = None,
    execution: Annotated[str | None, Query(max_length=36, description="An execution's id.")] = None,
    workflow: Annotated[str | None, Query(max_length=255, description="A workflow's key.")] = None,
    locked: Annotated[bool | None, Query(description="Whether a worker has it now.")] = None,
) -> Response:
    wanted = TaskFilter(
        status=status,
        topic=topic,
        worker=worker,
        execution_id=execution,
        workflow_key=workflow,
        locked=locked,
    )
    found, following = await parts.working.lists.list(caller.institute_id, listed, wanted)
    items = [ExternalTaskItem.model_validate(asdict(each)) for each in found]
    return answer(ExternalTaskPage(items=items, next_cursor=following))


@router.get(
    "/api/external-tasks/{id}",
    summary="Read an external task",
    **described(ExternalTaskItem, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_external_task(
    id: Annotated[str, Path(description="A task's id.")], caller: Viewer, parts: Given
) -> Response:
    found = await parts.working.lists.get(caller.institute_id, id)
    if found is None:
        raise NotFound(f"There is no external task {id[:200]!r}")
    return answer(ExternalTaskItem.model_validate(asdict(found)))
