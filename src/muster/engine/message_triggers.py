"""Messages that start workflows: each is offered to the event triggers of its topic, and of its event's name.

A message starts one execution of a trigger at most, however often it is delivered: its topic, partition and
offset are the key. One that is older than a trigger does not start it, so that a new trigger, or a new group
of consumers, does not run through all that ever was.
"""

import asyncio
from collections.abc import Collection, Sequence
from datetime import timedelta

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.engine.bus import Batch, Message, Rejected, trace_of
from muster.engine.payloads import context_of, event_id_of, payload_of
from muster.engine.triggering import Event, Startable, Startables, Triggering
from muster.kit.clock import Clock
from muster.model.json import Json
from muster.model.problems import AuthorError
from muster.model.trigger import TriggerType

EVENT_NAMES = ("X-Event-Name", "X-Event-Type", "ce_type")
EVENT_IDS = ("X-Event-Id", "ce_id")
NAME_FIELDS = ("eventName", "eventType")
# Kafka tells times to the millisecond.
AS_EXACT_AS_TIMES_ARE = timedelta(milliseconds=1)
# A message may be as large as the bus takes it.
LIMITS = Limits(bytes=16 * 1024 * 1024)


def read_message(message: Message) -> Json:
    """The JSON that a message holds. Raises `AuthorError`."""
    return read_json(message.value or b"null", LIMITS)


class MessageTriggers:
    """A handler of messages (`engine.bus.Handler`)."""

    def __init__(self, startables: Startables, triggering: Triggering, clock: Clock) -> None:
        self._startables, self._triggering, self._clock = startables, triggering, clock

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        """Starts what the messages start, all of them at once. Rejects what cannot be read, and what a
        trigger cannot make a key of."""
        offered = await asyncio.gather(*map(self._offer, batch.messages), return_exceptions=True)
        for came in offered:
            if isinstance(came, BaseException):
                raise came
        return [came for came in offered if isinstance(came, Rejected)]

    async def _offer(self, message: Message) -> Rejected | None:
        if message.value is None:
            return None  # it tells that something is gone, and no more
        of_topic = await self._startables.by_topic(message.topic)
        try:
            body = read_message(message)
        except AuthorError as error:
            # Others may use the topic for what they like: only a trigger of its own expects JSON there.
            return Rejected(message, "UNPARSABLE", str(error)) if of_topic else None
        triggers = [*of_topic, *await self._named(_name(message, body))]
        wanted = [each for each in triggers if may_start(message, each)]
        if not wanted:
            return None  # as it is with most: nothing is made of it that nobody reads
        event = event_of(message, body, self._clock)
        came = await asyncio.gather(
            *(self._triggering.fire(each, event) for each in wanted), return_exceptions=True
        )
        refused = [each for each in came if isinstance(each, AuthorError)]
        for each in came:
            if isinstance(each, BaseException) and not isinstance(each, AuthorError):
                raise each
        return Rejected(message, refused[0].problems[0].code, str(refused[0])) if refused else None

    async def _named(self, name: str | None) -> Collection[Startable]:
        found = await self._startables.by_event(None, name) if name else []
        return [each for each in found if each.settings.type is TriggerType.EVENT]


def may_start(message: Message, trigger: Startable) -> bool:
    """Whether the message came after the trigger was made."""
    return trigger.created_at is None or message.at + AS_EXACT_AS_TIMES_ARE > trigger.created_at


def event_of(message: Message, body: Json, clock: Clock) -> Event:
    """A message as triggers see it, and what is in it."""
    headers = [(name.lower(), _text(value)) for name, value in message.headers]
    payload = payload_of(body, headers, {}) | {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "key": None if message.key is None else _text(message.key),
        "timestamp": message.at.isoformat(),
    }
    del payload["query"]
    return Event(
        context=context_of(body),
        payload=payload,
        at=message.at,
        name=_name(message, body),
        # Without one of its own each message is an event of its own.
        id=_first(message, EVENT_IDS) or event_id_of(body) or message.name,
        delivery=message.delivery,
        received_at=clock.now(),
        trace=trace_of(message),
    )


def _name(message: Message, body: Json) -> str | None:
    return _first(message, EVENT_NAMES) or _named_in(body)


def _first(message: Message, names: Sequence[str]) -> str | None:
    found = (message.header(name) for name in names)
    return next((_text(value) for value in found if value), None)


def _text(raw: bytes) -> str:
    """Bytes as text that can be stored; what is none, in hexadecimal. Keys are often numbers in binary, and
    no two ids may become the same."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return raw.hex()
    return raw.hex() if "\0" in text else text


def _named_in(body: Json) -> str | None:
    fields = context_of(body)
    found = (fields.get(name) for name in NAME_FIELDS)
    return next((value for value in found if isinstance(value, str) and value), None)
