"""Schedules: what starts workflows by the clock."""

from collections.abc import Callable, Sequence
from datetime import datetime
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
from muster.api.reading import read_body, read_optional_body, read_value
from muster.api.schedule_shapes import (
    BackfillBody,
    Backfilled,
    BackfillResult,
    NextBody,
    NextTimes,
    ScheduleBody,
    ScheduleItem,
    SchedulePage,
    item_of,
)
from muster.api.strict import StrictRoute
from muster.definitions.problems import Problems
from muster.definitions.schedules import is_day, last_moment_in, moment_in, read_schedule
from muster.definitions.timetables import EPOCH, timetable
from muster.engine.owned import Begun
from muster.engine.scheduling import MOST_BACKFILLED
from muster.model.access import Role
from muster.model.json import Json, JsonObject
from muster.model.schedule import ScheduleStatus, StoredSchedule
from muster.model.workflow import Schedule

router = APIRouter(route_class=StrictRoute, tags=["schedules"])

PATH = "/api/workflow/schedule"
MOST_SHOWN = 100
Id = Annotated[str, Path(description="A schedule's id.")]
_EXAMPLE = {
    "workflowId": "onboarding",
    "scheduleType": "CRON",
    "cronExpression": "0 9 * * MON-FRI",
    "timezone": "Asia/Kolkata",
}
_WRITING = (
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
        *_WRITING,
        Code.CONFLICT,
        role=Role.EDITOR,
        status=201,
        body=json_body(ScheduleBody, _EXAMPLE),
        headers=_ETAG,
        notes="Not for a workflow that is archived (409).",
    ),
)
async def create_schedule(request: Request, caller: Editor, parts: Given) -> Response:
    body = _fields(await read_value(request, parts.body_limit))
    workflow = body.get("workflowId")
    if not isinstance(workflow, str):
        raise wrong("/workflowId", "There should be a `workflowId`: a workflow's id or key.", "MISSING")
    return _shown(await parts.scheduling.create(workflow, _schedule(body), caller), 201)


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


@router.post(
    f"{PATH}/next",
    summary="Say when a schedule would fire",
    **described(
        NextTimes,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        role=Role.VIEWER,
        body=json_body(NextBody, {"scheduleType": "CRON", "cronExpression": "0 9 L * *", "count": 3}),
        notes="Nothing is saved.",
    ),
)
async def next_times_of(request: Request, caller: Viewer, parts: Given) -> Response:
    body = _fields(await read_value(request, parts.body_limit))
    count, after = body.pop("count", 5), body.pop("after", None)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_SHOWN:
        raise wrong("/count", f"`count` must be a whole number from 1 to {MOST_SHOWN}.")
    schedule = _schedule(body)
    since = parts.clock.now() if after is None else _moment(after, schedule, "/after")
    return answer(_next(schedule, since, count))


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
        *_WRITING,
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
    body = _fields(await read_value(request, parts.body_limit))
    kept = await parts.scheduling.get(id, caller)
    workflow = body.get("workflowId")
    if workflow is not None and workflow != kept.workflow_id:
        named = await parts.library.workflow(str(workflow), caller)
        if named.id != kept.workflow_id:
            raise wrong("/workflowId", "A schedule stays with its workflow: make another one.")
    keeps_status = body.get("status") is None
    return _shown(await parts.scheduling.replace(id, _schedule(body), caller, expected, keeps_status))


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


@router.get(
    f"{PATH}/{{id}}/next",
    summary="Say when a schedule fires next",
    **described(
        NextTimes,
        Code.NOT_FOUND,
        Code.CONFLICT,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Not if its zone is not known any more (409).",
    ),
)
async def next_times(
    id: Id, caller: Viewer, parts: Given, count: Annotated[int, Query(ge=1, le=MOST_SHOWN)] = 5
) -> Response:
    kept = await parts.scheduling.get(id, caller)
    return answer(_next(kept.schedule, parts.clock.now(), count))


@router.post(
    f"{PATH}/{{id}}/backfill",
    summary="Start what a schedule would have started",
    **described(
        BackfillResult,
        *_WRITING,
        Code.CONFLICT,
        role=Role.OPERATOR,
        status=202,
        body=json_body(BackfillBody, {"from": "2026-03-01T00:00:00", "to": "2026-03-31T23:59:59"}),
        notes="Each time once, also if it is repeated: what was started before is not started again. "
        f"At most {MOST_BACKFILLED} times. Unless `overlap` is `allow` they run one after another.",
    ),
)
async def backfill(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_body(request, BackfillBody, parts.body_limit)
    schedule = (await parts.scheduling.get(id, caller)).schedule
    first = _moment(body.from_, schedule, "/from")
    last = _moment(body.to, schedule, "/to", last_moment_in)
    now = parts.clock.now()
    if is_day(body.to) and _moment(body.to, schedule, "/to") <= now < last:
        last = now  # today, as far as it is over
    if first < EPOCH:
        raise wrong("/from", f"`from` is too early: nothing is filled up before {EPOCH:%Y-%m-%d}.")
    if last < first:
        raise wrong("/to", "`to` is before `from`.")
    if last > now:
        raise wrong("/to", "`to` is not over yet: what is still to come is started when its time comes.")
    begun = await parts.scheduling.backfill(id, first, last, caller, now, body.reason)
    return answer(BackfillResult(results=_backfilled(begun)), 202)


def _backfilled(begun: Sequence[tuple[datetime, Begun]]) -> list[Backfilled]:
    return [
        Backfilled(scheduled_time=time, execution_id=each.id, status=each.status, duplicate=each.duplicate)
        for time, each in begun
    ]


def _fields(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise wrong("", "The body must be an object: a schedule's fields.")
    return dict(value)


def _schedule(fields: JsonObject) -> Schedule:
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


def _moment(
    value: Json, schedule: Schedule, pointer: str, read: Callable[[str, str], datetime] = moment_in
) -> datetime:
    try:
        return read(str(value), schedule.timezone)
    except (ValueError, OverflowError):
        said = f"`{str(value)[:100]}` is not a time; write it as `2026-01-31T09:00:00`."
        raise wrong(pointer, said, "INVALID_TIME") from None


def _next(schedule: Schedule, after: datetime, count: int) -> NextTimes:
    table = timetable(schedule)
    return NextTimes(next=[table.shown(each).isoformat() for each in table.upcoming(after, count)])
