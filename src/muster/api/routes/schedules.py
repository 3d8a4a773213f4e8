"""Schedules: what starts workflows by the clock."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.etags import IF_MATCH, etag, etag_of, read_if_match
from muster.api.execution_shapes import Reason, Started
from muster.api.guard import Editor, Operator, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_optional_body, read_value
from muster.api.schedule_shapes import (
    ScheduleBody,
    ScheduleItem,
    SchedulePage,
    item_of,
)
from muster.api.strict import StrictRoute
from muster.definitions.problems import Problems
from muster.definitions.schedules import read_schedule
from muster.model.access import Role
from muster.model.json import Json, JsonObject
from muster.model.schedule import ScheduleStatus, StoredSchedule
from muster.model.workflow import Schedule

router = APIRouter(route_class=StrictRoute, tags=["schedules"])

PATH = "/api/workflow/schedule"
Id = Annotated[str, Path(description="A schedule's id.")]
_EXAMPLE = {
    "workflowId": "onboarding",
    "scheduleType": "CRON",
    "cronExpression": "0 9 * * MON-FRI",
    "timezone": "Asia/Kolkata",
}
WRITING = (
    Code.NOT_FOUND,
    Code.INVALID_BODY,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)
_DELETING = (Code.NOT_FOUND, Code.CONFLICT, Code.UNAVAILABLE, Code.OUTCOME_UNKNOWN)
_SWITCHING = (*_DELETING, Code.INVALID_BODY, Code.UNSUPPORTED_MEDIA_TYPE)
_ETAG = etag_of("The schedule's version")
_WHY = json_body(Reason, {"reason": "the bank is closed"})


@router.post(
    PATH,
    summary="Make a schedule",
    **described(
        ScheduleItem,
        *WRITING,
        Code.CONFLICT,
        role=Role.EDITOR,
        status=201,
        body=json_body(ScheduleBody, _EXAMPLE),
        headers=_ETAG,
        notes="Not for a workflow that is archived (409).",
    ),
)
async def create_schedule(request: Request, caller: Editor, parts: Given) -> Response:
    body = fields_of(await read_value(request, parts.body_limit))
    workflow = body.get("workflowId")
    if not isinstance(workflow, str):
        raise wrong("/workflowId", "There should be a `workflowId`: a workflow's id or key.", "MISSING")
    return _shown(await parts.scheduling.create(workflow, schedule_in(body), caller), 201)


@router.get(
    PATH,
    summary="List schedules",
    **described(
        SchedulePage,
        Code.NOT_FOUND,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_schedules(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    workflow: Annotated[str | None, Query(max_length=255, description="A workflow's id or key.")] = None,
    status: Annotated[ScheduleStatus | None, Query()] = None,
) -> Response:
    found, following = await parts.scheduling.list(caller, listed, workflow, status)
    return answer(SchedulePage(items=[item_of(each) for each in found], next_cursor=following))


@router.get(
    f"{PATH}/{{id}}",
    summary="Read a schedule",
    **described(ScheduleItem, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER, headers=_ETAG),
)
async def get_schedule(id: Id, caller: Viewer, parts: Given) -> Response:
    return _shown(await parts.scheduling.get(id, caller))


@router.put(
    f"{PATH}/{{id}}",
    summary="Change a schedule",
    **described(
        ScheduleItem,
        *WRITING,
        Code.CONFLICT,
        Code.INVALID_PARAMETER,
        Code.STALE_VERSION,
        role=Role.EDITOR,
        body=json_body(ScheduleBody, _EXAMPLE),
        headers=_ETAG,
        notes="All of it; without `status` it stays on or off, as it is. One that comes from a definition is "
        "changed there (409)." + IF_MATCH,
    ),
)
async def replace_schedule(id: Id, request: Request, caller: Editor, parts: Given) -> Response:
    expected = read_if_match(request)
    body = fields_of(await read_value(request, parts.body_limit))
    kept = await parts.scheduling.get(id, caller)
    workflow = body.get("workflowId")
    if workflow is not None and workflow != kept.workflow_id:
        named = await parts.library.workflow(str(workflow), caller)
        if named.id != kept.workflow_id:
            raise wrong("/workflowId", "A schedule stays with its workflow: make another one.")
    keeps_status = body.get("status") is None
    return _shown(await parts.scheduling.replace(id, schedule_in(body), caller, expected, keeps_status))


@router.delete(
    f"{PATH}/{{id}}",
    summary="Delete a schedule",
    **described(
        None,
        *_DELETING,
        role=Role.EDITOR,
        status=204,
        notes="One that comes from a definition is removed there (409).",
    ),
)
async def delete_schedule(id: Id, caller: Editor, parts: Given) -> Response:
    await parts.scheduling.delete(id, caller)
    return Response(status_code=204)


@router.post(
    f"{PATH}/{{id}}/activate",
    summary="Switch a schedule on",
    **described(
        ScheduleItem,
        *_SWITCHING,
        role=Role.OPERATOR,
        body=_WHY,
        body_optional=True,
        headers=_ETAG,
        notes="It fires at its next time; what passed while it was off is not made up for. Not while its "
        "workflow is archived (409).",
    ),
)
async def activate_schedule(request: Request, id: Id, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    return _shown(await parts.scheduling.switch(id, ScheduleStatus.ACTIVE, caller, body.reason))


@router.post(
    f"{PATH}/{{id}}/deactivate",
    summary="Switch a schedule off",
    **described(ScheduleItem, *_SWITCHING, role=Role.OPERATOR, body=_WHY, body_optional=True, headers=_ETAG),
)
async def deactivate_schedule(request: Request, id: Id, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    return _shown(await parts.scheduling.switch(id, ScheduleStatus.INACTIVE, caller, body.reason))


@router.post(
    f"{PATH}/{{id}}/run",
    summary="Start a schedule's workflow now",
    **described(
        Started,
        *_SWITCHING,
        role=Role.OPERATOR,
        status=202,
        body=_WHY,
        body_optional=True,
        notes="Whatever its times are, and whatever is under way. Its next time stays.",
    ),
)
async def run_schedule(request: Request, id: Id, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    begun = await parts.scheduling.run(id, caller, parts.clock.now(), body.reason)
    return answer(Started(execution_id=begun.id, status=begun.status), 202)


def fields_of(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise wrong("", "The body must be an object: a schedule's fields.")
    return dict(value)


def schedule_in(fields: JsonObject) -> Schedule:
    """The schedule that a body describes. All its mistakes come back at once."""
    problems = Problems()
    schedule = read_schedule(fields, "", problems)
    if schedule is None:
        found = problems.all
        said = found[0].message if len(found) == 1 else f"The schedule has {len(found)} mistakes."
        raise Refused(Code.INVALID_BODY, said, problems=found)
    return schedule


def _shown(kept: StoredSchedule, status: int = 200) -> Response:
    return answer(item_of(kept), status, etag(kept.version))
