"""Waits for events and near misses: looking, and helping by hand."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Operator, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given, Parts
from muster.api.problems import Code, wrong
from muster.api.reading import read_optional_body
from muster.api.strict import StrictRoute
from muster.api.wait_answers import near_item, wait_item, wait_whole
from muster.api.wait_shapes import (
    Apply,
    EventWaitPage,
    EventWaitWhole,
    NearMissPage,
    Rearm,
)
from muster.definitions.durations import parse_duration
from muster.engine.actions import By
from muster.engine.event_waits import NearMiss, WaitStatus
from muster.model.access import Role
from muster.model.event_wait import WaitRecord
from muster.model.stored import Page
from muster.nodes.event_waiting import Application

router = APIRouter(route_class=StrictRoute, tags=["waits"])

Id = Annotated[str, Path(description="A wait's id.")]
Number = Annotated[int, Path(ge=1, le=2**63 - 1, description="A near miss's id.")]
OfExecution = Annotated[str | None, Query(max_length=36, description="An execution's id.")]
LAST_MISSES = 20
_READ = (Code.NOT_FOUND, Code.UNAVAILABLE)
_ACT = (
    Code.NOT_FOUND,
    Code.INVALID_BODY,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.CONFLICT,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)


@router.get(
    "/api/waits",
    summary="List waits for events",
    **described(
        EventWaitPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_waits(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[WaitStatus | None, Query()] = None,
    execution: OfExecution = None,
    workflow: Annotated[str | None, Query(max_length=36, description="A workflow's id.")] = None,
) -> Response:
    found, following = await parts.waiting.lists.list(
        caller.institute_id, listed, status, execution, workflow
    )
    now = parts.clock.now()
    return answer(EventWaitPage(items=[wait_item(each, now) for each in found], next_cursor=following))


@router.get(
    "/api/waits/{id}",
    summary="Read a wait, and why it waits",
    **described(EventWaitWhole, *_READ, role=Role.VIEWER),
)
async def get_wait(id: Id, caller: Viewer, parts: Given) -> Response:
    return await _shown(parts, await parts.waiting.get(id, caller))


@router.post(
    "/api/waits/{id}/rearm",
    summary="Let a wait whose time was over go on",
    **described(
        EventWaitWhole,
        *_ACT,
        role=Role.OPERATOR,
        body=json_body(Rearm, {"timeout": "1h", "reason": "the service is back"}),
        body_optional=True,
        notes="Its execution has failed by it, and waits again: for the same events, under the same ids.",
    ),
)
async def rearm(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Rearm, parts.body_limit)
    try:
        length = parse_duration(body.timeout)
        until = parts.clock.now() + length
    except (ValueError, OverflowError) as error:
        raise wrong("/timeout", str(error)) from None
    if not length:
        raise wrong("/timeout", "Give it some time: `300s`, `5m`, `PT5M` or a number of seconds.")
    return await _shown(parts, await parts.waiting.rearm(id, until, By(caller, body.reason)))


@router.get(
    "/api/near-misses",
    summary="List events that were not accepted",
    **described(
        NearMissPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first; each is kept for a day.",
    ),
)
async def list_near_misses(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    wait: Annotated[str | None, Query(max_length=36, description="A wait's id.")] = None,
    execution: OfExecution = None,
    reason: Annotated[NearMiss | None, Query()] = None,
) -> Response:
    found, following = await parts.waiting.lists.near_misses(
        caller.institute_id, listed, wait, execution, reason
    )
    return answer(NearMissPage(items=[near_item(each) for each in found], next_cursor=following))


@router.post(
    "/api/near-misses/{id}/apply",
    summary="Give a near miss to a wait by hand",
    **described(
        EventWaitWhole,
        *_ACT,
        role=Role.OPERATOR,
        body=json_body(Apply, {"event": "kafka_event", "reason": "sent under an old id"}),
        body_optional=True,
    ),
)
async def apply(id: Number, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Apply, parts.body_limit)
    how = Application(body.wait_id, body.event)
    return await _shown(parts, await parts.waiting.apply(id, By(caller, body.reason), how))


async def _shown(parts: Parts, wait: WaitRecord) -> Response:
    missed, _ = await parts.waiting.lists.near_misses(None, Page(LAST_MISSES, None), wait.id)
    return answer(wait_whole(wait, missed, parts.clock.now()))
