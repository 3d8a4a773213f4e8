"""Messages of topics as events for waits: those that carry both ids, where the waits look for them."""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.engine.bus import NO_TIME, Batch, Message, Rejected, trace_of
from muster.engine.event_keys import KeyedEvent, TopicFields, key_hash
from muster.engine.event_waits import Arrived, NearMiss, Refused, Source, Verdict, field_of
from muster.kit.clock import Clock
from muster.model.json import Json
from muster.model.problems import AuthorError
from muster.nodes.event_waiting import beginning
from muster.nodes.waiting_for_events import CORRELATION_HEADER, EXECUTION_HEADER

UNPARSABLE = "UNPARSABLE"
MISMATCHES = (NearMiss.EXECUTION_MISMATCH, NearMiss.CORRELATION_MISMATCH)

log = logging.getLogger(__name__)


class Reception(Protocol):
    async def receive(self, events: Sequence[Arrived]) -> Sequence[Verdict]:
        """What becomes of events, each in its place; durable when this returns. Raises `NotWritten`."""
        ...


class WaitTopics(Protocol):
    async def topics(self) -> Collection[TopicFields]:
        """The topics that waits have named, and where the ids are in their messages. Raises `NotWritten`."""
        ...


class KeyedEvents(Protocol):
    """Events under business keys, and the waits that they meet."""

    async def keep(self, events: Sequence[KeyedEvent]) -> None:
        """Keep events until their waits meet them; one that is kept already is left alone. Raises
        `NotWritten`."""
        ...

    async def meet(self) -> int:
        """Bring some together with their waits, and say how many. Raises `NotWritten`."""
        ...


class WaitMessages:
    """An `engine.bus.Handler`: offers the messages of a batch to waits, all at once. What is nobody's event
    is passed over; what cannot be read is rejected. A message that comes again is a repeat, and changes
    nothing."""

    def __init__(
        self, reception: Reception, waits: WaitTopics, keyed: KeyedEvents, limits: Limits, now: Clock
    ) -> None:
        self._reception, self._waits, self._keyed, self._limits = reception, waits, keyed, limits
        self._clock = now

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        fields = await self._fields({message.topic for message in batch.messages})
        rejected: list[Rejected] = []
        events: list[Arrived] = []
        keyed: list[KeyedEvent] = []
        now = self._clock.now()
        for message in batch.messages:
            # Where no wait has ever looked for events, what is in a message is not its business.
            if message.topic in fields and message.value is not None:
                try:
                    data = read_json(message.value, self._limits)
                except AuthorError as error:
                    rejected.append(Rejected(message, UNPARSABLE, str(error)))
                    events += unreadable(message)
                else:
                    events += events_of(message, data, fields[message.topic])
                    keyed += keyed_of(message, data, fields[message.topic], now)
        if events:
            for event, verdict in zip(events, await self._reception.receive(events), strict=True):
                _tell(event, verdict)
        if keyed:
            await self._keyed.keep(keyed)
            await self._keyed.meet()
        return rejected

    async def _fields(self, topics: Collection[str]) -> Mapping[str, list[TopicFields]]:
        fields: dict[str, list[TopicFields]] = defaultdict(list)
        for each in await self._waits.topics():
            if each.topic in topics:
                fields[each.topic].append(each)
        return fields

    async def topics(self) -> Collection[str]:
        """The topics that messages are wanted from. Raises `NotWritten`."""
        return {each.topic for each in await self._waits.topics()}


def events_of(message: Message, data: Json, fields: Sequence[TopicFields]) -> Iterator[Arrived]:
    """The events that a message is: one for each pair of ids that is in it, wherever waits look for them."""
    seen: set[tuple[str, str]] = set()
    for each in fields:
        if not each.execution:
            continue
        execution, correlation = field_of(data, each.execution), field_of(data, each.correlation)
        if not isinstance(execution, str) or not isinstance(correlation, str):
            log.debug("message %s lacks an id, and is no wait's event", message.name)
        elif (execution, correlation) not in seen:
            seen.add((execution, correlation))
            trace = trace_of(message)
            yield Arrived(Source.KAFKA, execution, correlation, data, message.topic, trace=trace)


def unreadable(message: Message) -> Iterator[Arrived]:
    """The event that a message would have been that nobody can read, if its headers say whose."""
    execution, correlation = message.header(EXECUTION_HEADER), message.header(CORRELATION_HEADER)
    if execution and correlation and message.value is not None:
        ids = execution.decode(errors="replace"), correlation.decode(errors="replace")
        yield Arrived(Source.KAFKA, *ids, beginning(message.value), message.topic, is_unreadable=True)


def keyed_of(
    message: Message, data: Json, fields: Sequence[TopicFields], now: datetime
) -> Iterator[KeyedEvent]:
    """The same of business keys. What is older than it would be kept for is an event all the same: its wait
    may have been there all the time."""
    published = now if message.at == NO_TIME else message.at
    for each in fields:
        if not each.execution and (found := field_of(data, each.correlation)) is not None:
            hashed = key_hash(message.topic, each.correlation, found)
            until = published + timedelta(seconds=each.buffer_seconds)
            if hashed is not None:
                trace = trace_of(message)
                yield KeyedEvent(hashed, message.topic, data, message.delivery, now, until, trace)


def _tell(event: Arrived, verdict: Verdict) -> None:
    if isinstance(verdict, Refused) and verdict.near in MISMATCHES:
        log.warning(
            "an event on %s names execution %s and correlation %s, which do not belong together: %s",
            event.topic,
            event.execution_id[:40],
            event.correlation_id[:40],
            verdict.near,
            extra={"execution_id": event.execution_id[:40], "correlation_id": event.correlation_id[:40]},
        )
