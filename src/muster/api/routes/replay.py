"""Stored events, once more: what would have been different."""

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Viewer
from muster.api.parts import Given
from muster.api.problems import Code, wrong
from muster.api.reading import read_body
from muster.api.replay_shapes import Replay, Replayed, replayed_of
from muster.api.strict import StrictRoute
from muster.model.access import Role
from muster.watch.backtest import Asked

router = APIRouter(route_class=StrictRoute, tags=["watched workflows"])

MOST_EVENTS = 100_000


@router.post(
    "/replay",
    summary="Try a version or a draft on the events that came",
    **described(
        Replayed,
        Code.NOT_FOUND,
        Code.INVALID_BODY,
        Code.INVALID_DEFINITION,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        body=json_body(Replay, {"workflow": "trade-lifecycle", "version": 1, "from": "2026-06-10T00:00:00Z"}),
        notes="Runs, misses and alerts as they are, against what they would be. State of its own: nothing is "
        f"written. {MOST_EVENTS:,} events at once; `muster replay` takes more.",
    ),
)
async def replay(request: Request, caller: Viewer, parts: Given) -> Response:
    body = await read_body(request, Replay, parts.body_limit)
    if body.version is not None and body.graph is not None:
        raise wrong("/graph", "Either a `version` or a `graph` is replayed, not both.")
    if body.from_ is not None and body.to is not None and body.from_ >= body.to:
        raise wrong("/to", "`to` must be later than `from`.")
    asked = Asked(body.workflow, body.version, body.graph, body.from_, body.to)
    return answer(replayed_of(await parts.watched.backtest.run(asked, caller, MOST_EVENTS)))
