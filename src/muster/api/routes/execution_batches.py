"""Many executions started at once: in one request, and in as few commits as they fit into."""

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.execution_shapes import BatchStarted, Duplicate, Execute, Rejected, Started
from muster.api.guard import Operator
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_value, shaped
from muster.api.rejections import check_written, rejected
from muster.api.routes.executions import KeyHeader, checked_key, start_of
from muster.api.strict import StrictRoute
from muster.engine.control import Start
from muster.engine.idempotency import key_of_request
from muster.engine.owned import Begun
from muster.model.access import Role
from muster.model.json import Json

router = APIRouter(route_class=StrictRoute, tags=["executions"])

MOST = 1000
_ITEM = {"$ref": "#/components/schemas/Execute"}
_SCHEMA = {"type": "array", "items": _ITEM, "minItems": 1, "maxItems": MOST}
_EXAMPLE = [{"key": "hello", "context": {"name": "Ada"}}, {"key": "hello", "context": {"name": "Bob"}}]


@router.post(
    "/api/workflow/execute/batch",
    summary="Start many executions",
    **described(
        BatchStarted,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.OPERATOR,
        status=202,
        body={"application/json": {"schema": _SCHEMA, "example": _EXAMPLE}},
        notes=f"Up to {MOST:,}, each as `POST /api/workflow/execute` takes it. One that cannot be started "
        "has its reason in its place, and keeps no other from starting. Each may have an `idempotencyKey`; "
        "with the header `Idempotency-Key` the others have keys by their places: the whole request may be "
        "repeated.",
    ),
)
async def execute_batch(request: Request, caller: Operator, parts: Given, key: KeyHeader = None) -> Response:
    key = checked_key(request, key)
    items = _items(await read_value(request, parts.body_limit))
    wanted = [_read(item, key, place) for place, item in enumerate(items)]
    starts = [start for start in wanted if isinstance(start, Start)]
    came = iter(await parts.control.start_all(starts, caller))
    outcomes = [next(came) if isinstance(start, Start) else start for start in wanted]
    check_written(outcomes)
    return answer(BatchStarted(results=[_result(outcome, parts) for outcome in outcomes]), 202)


def _items(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise wrong("", "The body must be a list of what to start.")
    if not 1 <= len(value) <= MOST:
        raise wrong("", f"The list must have 1 to {MOST:,} items; it has {len(value):,}.")
    return value


def _read(item: Json, header: str | None, place: int) -> Start | Refused:
    """Each has its own key, or its place under the key of all."""
    try:
        body = shaped(item, Execute)
        if body.idempotency_key is not None:
            return start_of(body, key_of_request(body.idempotency_key))
        return start_of(body, None if header is None else key_of_request(header, place))
    except Refused as refused:
        return refused


def _result(outcome: Begun | BaseException, parts: Parts) -> Started | Duplicate | Rejected:
    if isinstance(outcome, Begun):
        if outcome.duplicate:
            return Duplicate(execution_id=outcome.id)
        return Started(execution_id=outcome.id, status=outcome.status)
    return rejected(outcome, parts)
