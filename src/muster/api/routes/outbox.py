"""Messages on their way to the bus."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.listing import Listed
from muster.api.outbox_shapes import OutboxPage, OutboxStreamItem, OutboxStreams, outbox_item
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.strict import StrictRoute
from muster.engine.outbox import MessageStatus, Stream, WantedMessages
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
