"""Messages on their way to the bus."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.execution_shapes import Reason
from muster.api.guard import Operator, Viewer
from muster.api.listing import Listed
from muster.api.outbox_shapes import OutboxPage, OutboxStreamItem, OutboxStreams, outbox_item
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.reading import read_body
from muster.api.strict import StrictRoute
from muster.engine.outbox import MessageStatus, NotStopped, Stream, WantedMessages
from muster.model.access import Role

router = APIRouter(route_class=StrictRoute, tags=["outbox"])


@router.get(
    "/api/outbox",
    summary="List messages on their way to the bus, and those that were published lately",
    **described(OutboxPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def list_outbox(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    stream: Annotated[Stream | None, Query()] = None,
    status: Annotated[MessageStatus | None, Query()] = None,
    topic: Annotated[str | None, Query(max_length=249)] = None,
    reference: Annotated[str | None, Query(max_length=255)] = None,
) -> Response:
    wanted = WantedMessages(stream, status, topic, reference)
    found, following = await parts.outbox.list(caller.institute_id, wanted, listed)
    return answer(OutboxPage(items=[outbox_item(entry) for entry in found], next_cursor=following))


@router.get(
    "/api/outbox/streams",
    summary="Show how the streams of the outbox stand",
    **described(OutboxStreams, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def list_streams(caller: Viewer, parts: Given) -> Response:
    found = await parts.outbox.streams()
    return answer(OutboxStreams(items=[OutboxStreamItem.model_validate(each) for each in found]))


@router.post(
    "/api/outbox/streams/{stream}/renew",
    summary="Let a stream begin anew that stopped",
    **described(
        OutboxStreamItem,
        Code.INVALID_PARAMETER,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.CONFLICT,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.OPERATOR,
        body=json_body(Reason, {"reason": "moved to another Kafka"}),
        notes="For one whose `problem` somebody has looked at. All that waits is published, whatever the bus "
        "has: look at `/api/outbox?status=pending` first. Streams are every institute's, so a caller of one "
        "renews none.",
    ),
)
async def renew_stream(
    stream: Annotated[Stream, Path(description="A stream's name.")],
    request: Request,
    caller: Operator,
    parts: Given,
) -> Response:
    if caller.institute_id is not None:
        raise Refused(Code.FORBIDDEN, "Streams are every institute's: a caller of one renews none.")
    body = await read_body(request, Reason, parts.body_limit)
    try:
        state = await parts.renewal.renew(stream, caller.name, body.reason)
    except NotStopped as refused:
        raise Refused(Code.CONFLICT, f"It has no problem: {refused}.") from None
    return answer(OutboxStreamItem.model_validate(state))
