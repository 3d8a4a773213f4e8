"""What changes, told as it does: one execution, or whatever a list shows."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from muster.api.board_topic import WALLBOARD
from muster.api.describe import described
from muster.api.event_stream import AGAIN, HEARTBEAT, MEDIA_TYPE, EventStream, Timetable, event
from muster.api.execution_answers import ended_of, item_of, node_event_of
from muster.api.guard import Viewer
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused
from muster.api.routes.executions import Id
from muster.api.strict import StrictRoute
from muster.api.topics import Follower
from muster.api.wait_answers import wait_item
from muster.engine.following import (
    BadPlace,
    Change,
    ExecutionChanged,
    ExecutionEnded,
    News,
    NodeChanged,
    Place,
    WaitChanged,
)
from muster.kit.names import did_you_mean
from muster.model.access import Caller, Role
from muster.model.problems import Problem

router = APIRouter(route_class=StrictRoute, tags=["streams"])

_CONTENT = {MEDIA_TYPE: {"schema": {"type": "string"}}}
_PROBLEMS = (Code.INVALID_PARAMETER, Code.UNAVAILABLE, Code.TOO_MANY_STREAMS)
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=1000, description="Where you were: the last event's `id`."),
]


@router.get(
    "/api/workflow/executions/{id}/events",
    summary="Follow an execution",
    **described(
        None,
        Code.NOT_FOUND,
        *_PROBLEMS,
        role=Role.VIEWER,
        content=_CONTENT,
        also={204: None},
        notes="Server-sent events. First `execution`, how it stands; then `node` for every visit that "
        "begins, waits, is tried again or is over, `wait` for every wait for events that opens or gets one, "
        "with what it needs, has and its deadline, and `execution` whenever it changes itself; at last `end` "
        "with its result. Come back with `Last-Event-ID` and you miss nothing and hear nothing twice; 204 "
        "once you have heard the end.",
    ),
)
async def follow_execution(
    id: Id, caller: Viewer, parts: Given, last_event_id: LastEventId = None
) -> Response:
    place = Place() if not last_event_id else _place(last_event_id)
    news = await parts.following.look(id, caller, place)
    if place.ended and not news.changes:
        return Response(status_code=204)
    return EventStream(lambda: _execution(parts, id, caller, news), parts.streams)


async def _execution(parts: Parts, id: str, caller: Caller, news: News) -> AsyncIterator[bytes]:
    yield AGAIN
    with parts.changes.listening(id) as heard:
        timetable = Timetable(heard)
        while True:
            if news.changes:
                yield b"".join(
                    _told(change, place, news.types, parts.clock.now()) for change, place in news.changes
                )
            if news.place.ended:
                return
            if not news.more and await timetable.rest(bool(news.changes)):
                yield HEARTBEAT
            timetable.begin()
            news = await _next(parts, id, caller, news)


async def _next(parts: Parts, id: str, caller: Caller, last: News) -> News:
    """The next look; while the database is away, nothing is new."""
    try:
        return await parts.following.look(id, caller, last.place, was_all=not last.more)
    except parts.unavailable:
        return News((), last.place, False, last.types)


def _told(change: Change, place: Place, types: Mapping[str, str], now: datetime) -> bytes:
    match change:
        case ExecutionChanged(row):
            return event("execution", item_of(row), str(place))
        case NodeChanged(row):
            return event("node", node_event_of(row, types), str(place))
        case WaitChanged(row):
            return event("wait", wait_item(row, now), str(place))
        case ExecutionEnded(row, output):
            return event("end", ended_of(row, output), str(place))


def _place(text: str) -> Place:
    try:
        return Place.read(text)
    except BadPlace:
        raise _bad_place() from None


def _bad_place() -> Refused:
    return Refused(Code.INVALID_PARAMETER, "`Last-Event-ID` must be the `id` of an event of this stream.")


@router.get(
    "/api/stream",
    summary="Follow what lists show",
    **described(
        None,
        *_PROBLEMS,
        role=Role.VIEWER,
        content=_CONTENT,
        notes="Server-sent events, each named after its topic. `executions`: those that have changed, as "
        "they are now; with `more`, read the list again. `wallboard`: first all that is "
        "watched, then what has changed, as `/wallboard` shows it. After a break an event may repeat what is "
        "still so.",
    ),
)
async def follow_topics(
    caller: Viewer,
    parts: Given,
    topics: Annotated[str, Query(max_length=200, description="Names of topics, with commas.")],
    last_event_id: LastEventId = None,
) -> Response:
    names = list(dict.fromkeys(name.strip() for name in topics.split(",") if name.strip()))
    _check_topics(names, parts)
    places = _places(last_event_id)
    try:
        followers = {name: parts.topics[name].follow(caller, places.get(name)) for name in names}
    except BadPlace:
        raise _bad_place() from None
    return EventStream(lambda: _topics(parts, followers), parts.streams)


def _check_topics(names: list[str], parts: Parts) -> None:
    known = sorted(parts.topics)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        told = f"There is no topic `{unknown[0][:100]}`." if unknown else "No topic is named."
        hint = did_you_mean(unknown[0], known) if unknown else None
        problem = Problem("INVALID_VALUE", "/query/topics", told, suggestion=hint)
        detail = f"{told} There are: {', '.join(known)}."
        raise Refused(Code.INVALID_PARAMETER, detail, problems=[problem])


def _places(last_event_id: str | None) -> dict[str, str]:
    """From `executions:17,alerts:4` to the place of each."""
    if not last_event_id:
        return {}
    pairs = [part.partition(":") for part in last_event_id.split(",")]
    if not all(colon for _, colon, _ in pairs):
        raise _bad_place()
    return {name: place for name, _, place in pairs}


async def _topics(parts: Parts, followers: Mapping[str, Follower]) -> AsyncIterator[bytes]:
    yield AGAIN
    with parts.changes.listening(*followers) as heard:
        # Nobody tells of what other instances count: within a second it is to be seen all the same.
        every = 0.5 if WALLBOARD in followers else 1.0
        timetable = Timetable(heard, every, shortest=0.25)
        while True:
            timetable.begin()
            told = [found async for found in _looked(parts, followers)]
            if told:
                yield b"".join(told)
            if await timetable.rest(bool(told)):
                yield HEARTBEAT


async def _looked(parts: Parts, followers: Mapping[str, Follower]) -> AsyncIterator[bytes]:
    for name, follower in followers.items():
        try:
            found = await follower.look()
        except parts.unavailable:
            continue
        if found is not None:
            places = ",".join(f"{each}:{other.place}" for each, other in followers.items())
            yield event(name, found, places)
