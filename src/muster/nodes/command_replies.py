"""Messages of reply topics as replies to commands: whole batches at once."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from muster.engine.bus import ERROR_MESSAGE, Batch, Message, Rejected
from muster.engine.commands import CORRELATION_ID, CommandStatus, Received, Reception, Reply
from muster.engine.event_waits import field_of
from muster.engine.ports import NotWritten
from muster.model.command import CommandRecord
from muster.model.json import Json, JsonObject
from muster.model.stored import Page
from muster.model.text import made_suitable
from muster.nodes.message_schemas import MessageSchemas, SchemaAway, SchemaViolation, Undecodable
from muster.nodes.replies_aside import BRIEFLY, AsideMessages, Registries, Tried, registry_of
from muster.nodes.resolved import BadParameter

UNPARSABLE, UNMATCHED = "UNPARSABLE", "UNMATCHED"
NO_CORRELATION, VIOLATION = "NO_CORRELATION_ID", "SCHEMA_VIOLATION"
UNEXPLAINED = "the reply is an error, and does not say why"
# Clocks of producers and brokers are not ours.
CLOCKS_APART = timedelta(minutes=5)

log = logging.getLogger(__name__)


class ReplyTopic(NamedTuple):
    """A topic that replies come from, where they have their correlation id if not in a header, and since when
    there are commands that they could be for."""

    topic: str
    field: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Expecting:
    """Where a command's reply comes, and what it must look like."""

    topic: str
    schema: JsonObject | None = None


class Replies(Protocol):
    async def topics(self) -> Collection[ReplyTopic]:
        """Where commands have their replies. Raises `NotWritten`."""
        ...

    async def expecting(self, correlations: Collection[str]) -> Mapping[str, Expecting]:
        """What is expected under these correlation ids, as far as they are known. Raises `NotWritten`."""
        ...

    async def receive(self, replies: Sequence[Reply]) -> Sequence[Reception]:
        """What becomes of replies, each in its place; durable when this returns. Raises `NotWritten`."""
        ...


@dataclass(frozen=True, slots=True)
class WantedCommands:
    """Which commands a list is to show. None: whichever."""

    status: CommandStatus | None = None
    execution_id: str | None = None
    workflow_id: str | None = None
    topic: str | None = None
    correlation_id: str | None = None


class CommandRecords(Protocol):
    """Commands, for people to look at. `institute_id` None reads across tenants."""

    async def list(
        self, institute_id: str | None, wanted: WantedCommands, page: Page
    ) -> tuple[Sequence[CommandRecord], str | None]:
        """Newest first, and the cursor of the next page."""
        ...

    async def get(self, institute_id: str | None, command_id: str) -> CommandRecord | None: ...


class ReplyObserver(Protocol):
    """Who counts replies. Told once it is durable."""

    def received(self, topic: str, status: str, latency: timedelta | None) -> None: ...


@dataclass(slots=True)
class _Sorted:
    """A batch, as far as it has been understood."""

    replies: list[tuple[Message, Reply]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    aside: list[Message] = field(default_factory=list)


class ReplyMessages:
    """An `engine.bus.Handler`: stores the replies of a batch, all at once. What is no reply to a command of
    ours, or is not as it must be, is rejected; a message that comes again is a repeat, and changes nothing.
    `look_now` lets the engine of this process look at once for what has come due. What cannot be read for
    want of its schema is set `aside`; None: then the whole batch is tried again."""

    def __init__(
        self,
        replies: Replies,
        schemas: MessageSchemas,
        observer: ReplyObserver,
        look_now: Callable[[], None],
        aside: AsideMessages | None = None,
    ) -> None:
        self._replies, self._schemas, self._observer = replies, schemas, observer
        self._look_now, self._aside, self._registries = look_now, aside, Registries()
        self._topics: Mapping[str, Sequence[ReplyTopic]] = {}

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        named, expecting = await self._named(batch.messages)
        found, until = _Sorted(), asyncio.get_running_loop().time() + BRIEFLY
        for message, correlation in named:
            await self._sort(found, message, correlation, expecting, until)
        if found.aside and self._aside is None:
            raise NotWritten("the schemas of replies cannot be had")
        await self._receive(found)
        if found.aside and self._aside is not None:
            await self._aside.put(found.aside)
        return found.rejected

    async def again(self, messages: Sequence[Message]) -> Tried:
        """Messages that were set aside: registries are waited for, side by side, and one that is still away
        is asked once."""
        named, expecting = await self._named(messages)
        by_registry: dict[object, list[tuple[Message, str | None]]] = {}
        for message, correlation in named:
            expected = expecting.get(correlation or "")
            schema = expected.schema if expected is not None else None
            by_registry.setdefault(registry_of(schema or {}), []).append((message, correlation))
        found = _Sorted()

        async def sort(mine: Sequence[tuple[Message, str | None]]) -> None:
            for place, (message, correlation) in enumerate(mine):
                before = len(found.aside)
                await self._sort(found, message, correlation, expecting)
                if len(found.aside) > before:
                    found.aside += [each for each, _ in mine[place + 1 :]]
                    return

        await asyncio.gather(*map(sort, by_registry.values()))
        await self._receive(found)
        return Tried(found.rejected, found.aside)

    async def topics(self) -> Collection[str]:
        """The topics that messages are wanted from. Raises `NotWritten`."""
        return (await self._look_for_topics()).keys()

    async def _named(
        self, messages: Sequence[Message]
    ) -> tuple[list[tuple[Message, str | None]], Mapping[str, Expecting]]:
        """Those that may be replies, with their correlation ids, and what is expected under these."""
        topics = await self._topics_of(messages)
        wanted = [message for message in messages if _may_be_a_reply(message, topics)]
        named = [(message, await self._correlation(message, topics[message.topic])) for message in wanted]
        return named, await self._replies.expecting({name for _, name in named if name is not None})

    async def _topics_of(self, messages: Sequence[Message]) -> Mapping[str, Sequence[ReplyTopic]]:
        """What is known of the topics of these. It is read anew where that could make a difference: more
        topics, more fields and earlier beginnings may have come, and nothing ever goes."""
        settled = all(
            message.header(CORRELATION_ID) is not None and _may_be_a_reply(message, self._topics)
            for message in messages
        )
        return self._topics if settled else await self._look_for_topics()

    async def _look_for_topics(self) -> Mapping[str, Sequence[ReplyTopic]]:
        topics: dict[str, list[ReplyTopic]] = {}
        for known in await self._replies.topics():
            topics.setdefault(known.topic, []).append(known)
        self._topics = topics
        return topics

    async def _correlation(self, message: Message, topics: Sequence[ReplyTopic]) -> str | None:
        """The correlation id in its headers, else in its value; None: it has none."""
        header = message.header(CORRELATION_ID)
        if header is not None:
            return _as_given(header.decode(errors="replace"))
        try:
            data = await self._schemas.decode(None, message.topic, message.value or b"null")
        except Undecodable:
            return None
        fields = (field_of(data, each.field) for each in topics)
        return next((_as_given(each) for each in fields if isinstance(each, str)), None)

    async def _sort(
        self,
        found: _Sorted,
        message: Message,
        correlation: str | None,
        expecting: Mapping[str, Expecting],
        until: float | None = None,
    ) -> None:
        """`until` is when nobody is waited for any longer, in the time of the loop."""
        if correlation is None:
            found.rejected.append(await self._nameless(message))
            return
        expected = expecting.get(correlation)
        if expected is None:
            told = f"no command has the correlation id {correlation[:100]!r}"
            found.rejected.append(Rejected(message, UNMATCHED, told))
            return
        headers, error = _headers(message), _error(message)
        try:
            payload = await self._payload(message, expected, until)
        except SchemaAway:
            found.aside.append(message)
            return
        except (Undecodable, SchemaViolation, BadParameter) as wrong:
            if error is None:
                kind = UNPARSABLE if isinstance(wrong, Undecodable) else VIOLATION
                found.rejected.append(Rejected(message, kind, str(wrong)))
                return
            # It says that the command has failed: what else it says need not be as a result would be.
            payload = _text(message.value or b"")
        found.replies.append((message, Reply(correlation, message.topic, payload, headers, error)))

    async def _nameless(self, message: Message) -> Rejected:
        try:
            await self._schemas.decode(None, message.topic, message.value or b"null")
        except Undecodable as wrong:
            return Rejected(message, UNPARSABLE, f"no header {CORRELATION_ID}, and {wrong}")
        return Rejected(message, NO_CORRELATION, f"neither a header {CORRELATION_ID} nor a field has one")

    async def _payload(self, message: Message, expected: Expecting, until: float | None) -> Json:
        """Raises `SchemaAway`."""
        if message.value is None:
            return None
        schema = expected.schema
        reading = self._schemas.decode(schema, message.topic, message.value)
        if schema is None:
            return await reading
        if until is not None:
            return await self._registries.ask_briefly(schema, until, reading)
        payload = await reading
        self._registries.answered(schema)
        return payload

    async def _receive(self, found: _Sorted) -> None:
        await self._receive_replies(found)
        for each in found.rejected:
            self._observer.received(each.message.topic, each.type.lower(), None)

    async def _receive_replies(self, found: _Sorted) -> None:
        if not found.replies:
            return
        came = await self._replies.receive([reply for _, reply in found.replies])
        for (message, reply), reception in zip(found.replies, came, strict=True):
            if reception.received in (Received.UNMATCHED, Received.ELSEWHERE):
                told = "the replies to its command come on another topic"
                found.rejected.append(Rejected(message, UNMATCHED, told))
            else:
                self._count(reply, reception)
        if any(each.received is Received.ACCEPTED and not each.is_taken_up for each in came):
            self._look_now()

    def _count(self, reply: Reply, reception: Reception) -> None:
        status = "error" if reply.error is not None else "success"
        if reception.received is not Received.ACCEPTED:
            status = reception.received.value
            correlation = reply.correlation_id[:40]
            told = {"correlation_id": correlation}
            log.info("a reply to command %s on %s is %s", correlation, reply.topic, status, extra=told)
        self._observer.received(reply.topic, status, reception.latency)


def _may_be_a_reply(message: Message, topics: Mapping[str, Sequence[ReplyTopic]]) -> bool:
    """What was there long before the first command with this reply topic is nobody's reply."""
    known = topics.get(message.topic)
    return known is not None and message.at >= min(each.since for each in known) - CLOCKS_APART


def _as_given(correlation: str) -> str:
    """Ours are UUIDs, which mean the same in capitals."""
    return correlation.strip().lower()


def _headers(message: Message) -> JsonObject:
    """By their names; the last of those that come several times."""
    return {_text(name.encode()): _text(value) for name, value in message.headers}


def _error(message: Message) -> str | None:
    header = message.header(ERROR_MESSAGE)
    return None if header is None else _text(header).strip() or UNEXPLAINED


def _text(data: bytes) -> str:
    return made_suitable(data.decode(errors="replace"))
