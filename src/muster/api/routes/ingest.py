"""Events that other systems tell of."""

from collections.abc import Sequence
from typing import Annotated

import orjson
from fastapi import APIRouter, Header, Request, Response

from muster.api.answers import JsonAnswer, answer
from muster.api.describe import described, json_body
from muster.api.guard import Producer
from muster.api.ingest_shapes import EventBody, TakenEvent, TakenEvents
from muster.api.parts import Given
from muster.api.problems import Code, Refused, problem_json
from muster.api.reading import read_value
from muster.api.strict import StrictRoute
from muster.api.tracing import current
from muster.model.access import Role
from muster.model.json import Json, JsonObject
from muster.model.problems import Problem
from muster.watch.envelope import BadEvent
from muster.watch.intake import MOST_EVENTS, Accepted, TooManyAtOnce

router = APIRouter(route_class=StrictRoute, tags=["events"])

LONGEST_KEY = 200
_EXAMPLE = {
    "eventId": "e1",
    "sourceSystem": "sys1",
    "eventType": "TRADE_INGEST",
    "eventTime": "2024-06-10T12:00:00Z",
    "workflowKey": "trade-lifecycle",
    "correlationKey": "TR123",
    "group": {"book": "EQD", "region": "NY"},
    "payload": {"notional": 1_000_000},
}
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="The event's id if it has none; in a list, with `-{index}`."),
]


@router.post(
    "/ingest",
    summary="Take in an event, or a list of them",
    **described(
        TakenEvents,
        Code.INVALID_EVENT,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.NOT_CONFIGURED,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.PRODUCER,
        status=202,
        body=json_body(EventBody, _EXAMPLE),
        notes="An event is durable, with all that follows from it, when this answers; one that was there "
        f"already (by `sourceSystem` and `eventId`) changes nothing. A list has at most {MOST_EVENTS:,} "
        "events, each of which is answered by itself. Those of one key keep their order.",
    ),
)
async def ingest(request: Request, caller: Producer, parts: Given, key: Key = None) -> Response:
    if key is not None and not 1 <= len(key) <= LONGEST_KEY:
        raise Refused(Code.INVALID_PARAMETER, f"`Idempotency-Key` has 1 to {LONGEST_KEY} characters.")
    if not parts.intake.is_open:
        raise Refused(Code.NOT_CONFIGURED, "Events are taken in elsewhere: `watch.stages` has no `ingest`.")
    institute_id, trace = caller.institute_id or "", current.get().traceparent
    try:
        with parts.intake.admitted():
            body = await read_value(request, parts.body_limit)
            if not isinstance(body, list):
                return _single(await parts.intake.one(body, key, institute_id, trace))
            if not 1 <= len(body) <= MOST_EVENTS:
                raise _refused([Problem("INVALID_VALUE", "", f"A list has 1 to {MOST_EVENTS:,} events.")])
            return _list(await parts.intake.several(body, key, institute_id, trace))
    except TooManyAtOnce:
        raise Refused(
            Code.RATE_LIMITED, "Too many requests are under way at once.", headers={"Retry-After": "1"}
        ) from None


def _single(taken: Accepted | BadEvent) -> Response:
    if isinstance(taken, BadEvent):
        raise _refusal(taken)
    return answer(TakenEvent(event_id=taken.event_id, duplicate=taken.duplicate), 202)


def _list(taken: list[Accepted | BadEvent]) -> Response:
    # By hand: there may be a thousand.
    return JsonAnswer(orjson.dumps({"results": [_result(each) for each in taken]}), 202)


def _result(taken: Accepted | BadEvent) -> JsonObject:
    if isinstance(taken, Accepted):
        return {"eventId": taken.event_id, "duplicate": taken.duplicate}
    refused = _refusal(taken)
    errors: list[Json] = [problem_json(each) for each in taken.problems]
    return {"error": {"code": refused.code, "detail": refused.detail, "errors": errors}}


def _refusal(bad: BadEvent) -> Refused:
    if bad.too_large:
        return Refused(Code.BODY_TOO_LARGE, bad.reason, problems=bad.problems)
    return _refused(bad.problems)


def _refused(problems: Sequence[Problem]) -> Refused:
    detail = problems[0].message if len(problems) == 1 else f"The event has {len(problems)} mistakes."
    return Refused(Code.INVALID_EVENT, detail, problems=problems)
