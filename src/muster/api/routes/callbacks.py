"""Callbacks: what services answer to waits, whoever they are. The correlation id is what lets them in."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from muster.api.answers import JsonAnswer, answer
from muster.api.auth.signatures import verify_signature
from muster.api.describe import described
from muster.api.direct import Call
from muster.api.guard import CountedInVain, charge_in_vain
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused
from muster.api.reading import read_value
from muster.api.tracing import current
from muster.api.wait_shapes import CallbackAnswer
from muster.engine.event_waits import Accepted, Arrived, Source
from muster.engine.payloads import context_of
from muster.model.json import Json
from muster.model.problems import Problem
from muster.nodes.event_waiting import beginning

# Whoever calls back sends what they send: names that are not known are passed over.
open_router = APIRouter(tags=["waits"])

PATH = "/api/internal/callbacks/external-service"
CORRELATION, EXECUTION, EVENT = "correlation_id", "execution_id", "event_name"
HEADERS = {CORRELATION: "X-Correlation-Id", EXECUTION: "X-Execution-Id", EVENT: "X-Event-Name"}
_ANY = {
    "application/json": {"schema": {}, "example": {"execution_id": "…", "correlation_id": "…", "ok": True}}
}


@open_router.post(
    PATH,
    summary="Answer a wait",
    **described(
        CallbackAnswer,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAUTHENTICATED,
        Code.RATE_LIMITED,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        body=_ANY,
        body_optional=True,
        notes=(
            "The two ids are in the headers `X-Correlation-Id` and `X-Execution-Id`, or else in the query, "
            "or else in the body, as `correlation_id` and `execution_id`. `X-Event-Name`, or `event_name`, "
            "says which of several named events it is. The correlation id is what lets the caller in; with "
            "`callbacks.hmac-secret`, the request has to be signed as well."
        ),
    ),
)
async def call_back(request: Request, parts: Given) -> Response:
    with CountedInVain(request, parts):
        if parts.callback_secrets:
            verify_signature(parts.callback_secrets, request.headers, await request.body(), parts.clock.now())
    body = await _body(request, parts) if await request.body() else None
    ids = {name: _found(request, body, name) for name in (CORRELATION, EXECUTION)}
    event = Arrived(
        Source.CALLBACK,
        ids[EXECUTION],
        ids[CORRELATION],
        body,
        name=_given(request, body, EVENT),
        trace=current.get().traceparent,
    )
    [verdict] = await parts.waiting.receive([event])
    if isinstance(verdict, Accepted):
        return JsonAnswer(_ACCEPTED, 200)
    if verdict.near is None:
        charge_in_vain(request, parts)
    return answer(CallbackAnswer(accepted=False, reason=verdict.reason))


# Nearly all answers are this one.
_ACCEPTED = CallbackAnswer(accepted=True).model_dump_json(by_alias=True).encode()
DIRECT: Mapping[str, Call] = {PATH: call_back}


async def _body(request: Request, parts: Parts) -> Json:
    """What was sent. Where nobody can read it, but its headers or the query say whose answer it is, it is
    kept as a near miss before it is refused. Raises `Refused`."""
    try:
        return await read_value(request, parts.body_limit)
    except Refused:
        ids = [_given(request, None, name) for name in (EXECUTION, CORRELATION)]
        if ids[0] and ids[1]:
            begins = beginning(await request.body())
            unreadable = Arrived(Source.CALLBACK, ids[0], ids[1], begins, is_unreadable=True)
            await parts.waiting.receive([unreadable])
        raise


def _found(request: Request, body: Json, name: str) -> str:
    """An id that has to be there. Raises `Refused`."""
    found = _given(request, body, name)
    if not found:
        places = f"the header `{HEADERS[name]}`, the query, or the body's `{name}`"
        problem = Problem("MISSING", f"/{name}", f"There is no `{name}`: it should be in {places}.")
        raise Refused(Code.INVALID_PARAMETER, problem.message, problems=[problem])
    return found


def _given(request: Request, body: Json, name: str) -> str | None:
    """What the headers say, or else the query, or else the body. Raises `Refused`."""
    told = request.headers.get(HEADERS[name])
    if not told and request.scope["query_string"]:
        told = request.query_params.get(name)
    if told:
        return told
    found = context_of(body).get(name)
    if found is not None and not isinstance(found, str):
        problem = Problem("INVALID_VALUE", f"/{name}", f"`{name}` should be a text.")
        raise Refused(Code.INVALID_PARAMETER, problem.message, problems=[problem])
    return found
