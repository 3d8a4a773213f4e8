"""The times of schedules: which come next, and starting those that are past."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Operator, Viewer
from muster.api.parts import Given
from muster.api.problems import Code, wrong
from muster.api.reading import read_body, read_value
from muster.api.routes.schedules import PATH, WRITING, Id, fields_of, schedule_in
from muster.api.schedule_shapes import (
    MOST_SHOWN,
    BackfillBody,
    Backfilled,
    BackfillResult,
    NextBody,
    NextTimes,
)
from muster.api.strict import StrictRoute
from muster.definitions.timetables import EPOCH, timetable
from muster.definitions.wall_clock import is_day, last_moment_in, moment_in
from muster.engine.owned import Begun
from muster.engine.scheduling import MOST_BACKFILLED
from muster.model.access import Role
from muster.model.json import Json
from muster.model.workflow import Schedule

router = APIRouter(route_class=StrictRoute, tags=["schedules"])


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
    body = fields_of(await read_value(request, parts.body_limit))
    count, after = body.pop("count", 5), body.pop("after", None)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_SHOWN:
        raise wrong("/count", f"`count` must be a whole number from 1 to {MOST_SHOWN}.")
    schedule = schedule_in(body)
    since = parts.clock.now() if after is None else _moment(after, schedule, "/after")
    return answer(_next(schedule, since, count))


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
        *WRITING,
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
    schedule, now = (await parts.scheduling.get(id, caller)).schedule, parts.clock.now()
    first, last = _range(body, schedule, now)
    begun = await parts.scheduling.backfill(id, first, last, caller, now, body.reason)
    return answer(BackfillResult(results=_backfilled(begun)), 202)


def _range(body: BackfillBody, schedule: Schedule, now: datetime) -> tuple[datetime, datetime]:
    """From when to when a range is filled up. Raises `Refused` for one that cannot be."""
    first = _moment(body.from_, schedule, "/from")
    last = _moment(body.to, schedule, "/to", last_moment_in)
    if is_day(body.to) and _moment(body.to, schedule, "/to") <= now < last:
        last = now  # today, as far as it is over
    if first < EPOCH:
        raise wrong("/from", f"`from` is too early: nothing is filled up before {EPOCH:%Y-%m-%d}.")
    if last < first:
        raise wrong("/to", "`to` is before `from`.")
    if last > now:
        raise wrong("/to", "`to` is not over yet: what is still to come is started when its time comes.")
    return first, last


def _backfilled(begun: Sequence[tuple[datetime, Begun]]) -> list[Backfilled]:
    return [
        Backfilled(scheduled_time=time, execution_id=each.id, status=each.status, duplicate=each.duplicate)
        for time, each in begun
    ]


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
