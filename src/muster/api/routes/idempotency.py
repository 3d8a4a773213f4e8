"""Trying idempotency settings."""

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Viewer
from muster.api.idempotency_shapes import MOST_EVENTS, IdempotencyPreview, IdempotencyPreviewed
from muster.api.parts import Given
from muster.api.previewing import previewed
from muster.api.problems import Code
from muster.api.reading import read_body
from muster.api.strict import StrictRoute
from muster.model.access import Role

router = APIRouter(route_class=StrictRoute, tags=["idempotency"])

_EXAMPLE = {
    "setting": {"strategy": "CONTEXT_BASED", "contextFields": ["userId"]},
    "triggerId": "t1",
    "events": [{"context": {"userId": 7}}, {"context": {"userId": 7}}],
}


@router.post(
    "/api/workflow/idempotency/preview",
    summary="Try an idempotency setting on sample events",
    **described(
        IdempotencyPreviewed,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        role=Role.VIEWER,
        body=json_body(IdempotencyPreview, _EXAMPLE),
        notes=f"Up to {MOST_EVENTS:,} events. Nothing is started, and nothing that was started counts: each "
        "is compared with those before it.",
    ),
)
async def preview(request: Request, caller: Viewer, parts: Given) -> Response:
    body = await read_body(request, IdempotencyPreview, parts.body_limit)
    return answer(previewed(body, parts.clock.now()))
