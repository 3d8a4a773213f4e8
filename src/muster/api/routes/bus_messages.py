"""Publishing messages to the bus, whichever it is: for producers that have no client of Kafka's."""

from dataclasses import replace
from typing import Annotated

import orjson
from fastapi import APIRouter, Path, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Producer
from muster.api.message_shapes import (
    MOST_MESSAGES,
    MessageBody,
    PublishedMessage,
    PublishedMessages,
    PublishedOneOrSeveral,
)
from muster.api.parts import Given
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_value, shaped
from muster.api.strict import StrictRoute
from muster.definitions.formats import topic_flaw
from muster.engine.bus import BusAway, Outgoing, TooLarge, UnknownTopic
from muster.model.access import Caller, Role
from muster.model.json import Json
from muster.model.problems import Problem

router = APIRouter(route_class=StrictRoute, tags=["messages"])

Topic = Annotated[str, Path(description="The topic's name.")]


@router.post(
    "/api/messages/{topic}",
    summary="Publish a message, or a list of them",
    **described(
        PublishedOneOrSeveral,
        Code.INVALID_BODY,
        Code.INVALID_PARAMETER,
        Code.NOT_FOUND,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.BUS_UNAVAILABLE,
        role=Role.PRODUCER,
        status=202,
        body=json_body(MessageBody, {"key": "o-1", "value": {"orderId": "o-1", "total": 40}}),
        notes="They are durable when this answers, and those of one key keep their order. A list has at most "
        f"{MOST_MESSAGES:,} messages. Topics are every institute's, so a caller of one publishes none.",
    ),
)
async def publish_messages(request: Request, topic: Topic, caller: Producer, parts: Given) -> Response:
    _check(topic, caller)
    body = await read_value(request, parts.body_limit)
    messages = [_outgoing(topic, each) for each in _bodies(body)]
    try:
        put = await parts.bus.publish(messages)
    except UnknownTopic as error:
        raise Refused(Code.NOT_FOUND, f"The topic {topic!r} is not there, or not for us: {error}.") from None
    except TooLarge as error:
        raise Refused(Code.BODY_TOO_LARGE, f"The bus does not take it: {error}.") from None
    except BusAway:
        raise Refused(
            Code.BUS_UNAVAILABLE, "The bus did not confirm the messages: they may be there or not."
        ) from None
    rows = [
        PublishedMessage(topic=place.topic, partition=place.partition, offset=offset) for place, offset in put
    ]
    return answer(PublishedMessages(results=rows) if isinstance(body, list) else rows[0], 202)


def _check(topic: str, caller: Caller) -> None:
    if caller.institute_id is not None:
        raise Refused(Code.FORBIDDEN, "Topics are every institute's: a caller of one publishes none.")
    if (flaw := topic_flaw(topic)) is not None:
        raise Refused(Code.INVALID_PARAMETER, flaw)


def _bodies(body: Json) -> list[MessageBody]:
    """One message, or each of a list; all that is wrong with them at once."""
    if not isinstance(body, list):
        return [shaped(body, MessageBody)]
    if not 1 <= len(body) <= MOST_MESSAGES:
        raise wrong("", f"A list has 1 to {MOST_MESSAGES:,} messages.")
    found: list[MessageBody] = []
    problems: list[Problem] = []
    for place, each in enumerate(body):
        try:
            found.append(shaped(each, MessageBody))
        except Refused as refused:
            problems += [replace(one, pointer=f"/{place}{one.pointer}") for one in refused.problems]
    if problems:
        raise Refused(Code.INVALID_BODY, "Some of the messages cannot be used.", problems=problems)
    return found


def _outgoing(topic: str, body: MessageBody) -> Outgoing:
    key = None if body.key is None else body.key.encode()
    headers = tuple((name, value.encode()) for name, value in body.headers.items())
    return Outgoing(topic, orjson.dumps(body.value), key, headers)
