"""Firing triggers: by id, by event name, by path. Who may do so, each trigger says itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, assert_never

import structlog
from fastapi import APIRouter, Path, Request, Response

from muster.api.auth import AuthError
from muster.api.auth.signatures import ID, Signed, verify_signature
from muster.api.describe import described, json_body
from muster.api.direct import Call
from muster.api.fired import decided, decided_several
from muster.api.guard import CountedInVain, count, recognised
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_value, shaped
from muster.api.routes.executions import Wait
from muster.api.strict import StrictRoute
from muster.api.tracing import current
from muster.api.trigger_shapes import Fire, Fired, FiredOneOrSeveral, SkippedOrEnded
from muster.definitions.pointers import child
from muster.engine.payloads import context_of, event_id_of, payload_of
from muster.engine.triggering import Event, Startable
from muster.model.access import Role
from muster.model.json import Json
from muster.model.problems import Problem
from muster.model.trigger import Authentication

router = APIRouter(route_class=StrictRoute, tags=["triggers"])
# Whoever calls a path sends what they send: names that are not known are passed over.
open_router = APIRouter(tags=["triggers"])

_log = structlog.get_logger("muster.triggers")

PATH = "/api/workflow/trigger"
BELOW = f"{PATH}/{{path:path}}"
_EXAMPLE = {
    "eventName": "LEARNER_BATCH_ENROLLMENT",
    "eventId": "enrolment-4711",
    "context": {"userId": "u1", "sessionId": "s1"},
}
_ANY = {"application/json": {"schema": {}, "example": {"userId": "u1"}}}
_PROBLEMS = (
    Code.UNAUTHENTICATED,
    Code.FORBIDDEN,
    Code.RATE_LIMITED,
    Code.PROVIDER_UNAVAILABLE,
    Code.INVALID_BODY,
    Code.INVALID_PARAMETER,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.NOT_FOUND,
    Code.CONFLICT,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)
_NOTES = (
    "202: an execution was started. 200: `SKIPPED`, and why; or, with `?wait=`, its result. A trigger with "
    "the authentication `JWT` needs the role `producer`; with `HMAC`, a signature after the Standard "
    "Webhooks convention; with `NONE`, nothing."
)

TriggerPath = Annotated[str, Path(description="A trigger's path. It may have several parts.")]


@router.post(
    PATH,
    summary="Fire a trigger, or all triggers of an event",
    **described(
        FiredOneOrSeveral,
        *_PROBLEMS,
        status=202,
        body=json_body(Fire, _EXAMPLE),
        also={200: SkippedOrEnded},
        notes=f"{_NOTES} An event name always needs the role `producer`; several triggers of that name are "
        "each decided on their own, and answered as `results`.",
    ),
)
async def fire(request: Request, parts: Given, wait: Wait = None) -> Response:
    with CountedInVain(request, parts):
        value = await read_value(request, parts.body_limit)
        trigger_id = _trigger_id(value)
        if trigger_id is not None:
            trigger = await parts.triggering.by_id(trigger_id)
            signed = await _let_in(request, parts, trigger)
        else:
            caller = await recognised(request, Role.PRODUCER)
    event = _named(request, parts, value)
    if trigger_id is not None:
        return await _fire(parts, trigger, event, signed, wait)
    decisions = await parts.triggering.offer(caller.institute_id, event)
    if len(decisions) > 1:
        return await decided_several(decisions, parts, caller.institute_id, wait)
    [decision] = decisions.values()
    if isinstance(decision, BaseException):
        raise decision
    return await decided(decision, parts, caller.institute_id, wait)


def _query(request: Request) -> Mapping[str, str]:
    found = request.query_params if request.scope["query_string"] else {}
    for name, value in found.items():
        if "\0" in name or "\0" in value:
            problem = Problem("INVALID_TEXT", child("/query", name), "A query parameter may have no NUL.")
            raise Refused(Code.INVALID_PARAMETER, problem.message, problems=[problem])
    return found


def _trigger_id(value: Json) -> str | None:
    """The trigger that a body names, and it alone. None: whatever else is in it, a producer may say."""
    named = value.get("triggerId") if isinstance(value, dict) and value.get("eventName") is None else None
    return named if isinstance(named, str) else None


def _named(request: Request, parts: Parts, value: Json) -> Event:
    """The event of a body that names its trigger, or itself."""
    body = shaped(value, Fire)
    if (body.trigger_id is None) == (body.event_name is None):
        raise wrong("", "There should be a `triggerId` or an `eventName`, and not both.")
    payload = payload_of(body.context, request.headers.items(), _query(request))
    return Event(
        body.context,
        payload,
        parts.clock.now(),
        body.event_name,
        body.event_id,
        pointer="/context",
        trace=current.get().traceparent,
    )


@open_router.post(
    BELOW,
    summary="Fire the trigger of a path",
    **described(
        Fired,
        *_PROBLEMS,
        status=202,
        body=_ANY,
        body_optional=True,
        also={200: SkippedOrEnded},
        notes=f"{_NOTES} Any JSON is taken, and none; its fields are the context.",
    ),
)
async def fire_path(request: Request, path: TriggerPath, parts: Given, wait: Wait = None) -> Response:
    with CountedInVain(request, parts):
        trigger = await parts.triggering.by_path(path)
        signed = await _let_in(request, parts, trigger)
    # Some senders have nothing to say but that something has happened.
    body = await read_value(request, parts.body_limit) if await request.body() else None
    payload = payload_of(body, request.headers.items(), _query(request))
    event_id = request.headers.get(ID) or event_id_of(body)
    event = Event(
        context_of(body),
        payload,
        parts.clock.now(),
        trigger.settings.event_name,
        event_id,
        trace=current.get().traceparent,
    )
    return await _fire(parts, trigger, event, signed, wait)


DIRECT: Mapping[str, Call] = {PATH: fire, BELOW: fire_path}


async def _fire(
    parts: Parts, trigger: Startable, event: Event, signed: Signed | None, wait: float | None
) -> Response:
    if signed is not None:
        event = replace(event, id=signed.id, delivery=signed.id)
    return await decided(await parts.triggering.fire(trigger, event), parts, trigger.institute_id, wait)


async def _let_in(request: Request, parts: Parts, trigger: Startable) -> Signed | None:
    """Whether this request may fire the trigger, and what was signed, if it is signed."""
    try:
        match trigger.settings.authentication:
            case Authentication.JWT:
                caller = await recognised(request, Role.PRODUCER)
                parts.triggering.check_seen(trigger, caller.institute_id)
                return None
            case Authentication.HMAC:
                return await _signed(request, parts, trigger)
            case Authentication.NONE:
                count(parts, f"trigger {trigger.id}")
                return None
            case _:
                assert_never(trigger.settings.authentication)
    except AuthError:
        parts.triggering.told("unauthenticated")
        raise


async def _signed(request: Request, parts: Parts, trigger: Startable) -> Signed:
    body = await request.body()
    try:
        signed = verify_signature(trigger.secrets, request.headers, body, parts.clock.now())
    except AuthError as refused:
        _log.info("request not signed", trigger_id=trigger.id, reason=refused.reason)
        raise
    count(parts, f"trigger {trigger.id}")
    return signed
