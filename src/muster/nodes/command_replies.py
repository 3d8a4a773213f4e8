"""Messages of reply topics as replies to commands: whole batches at once."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from muster.engine.bus import ERROR_MESSAGE, Batch, Message, Rejected
from muster.engine.commands import CORRELATION_ID, CommandStatus, Received, Reception, Reply
from muster.engine.ports import NotWritten
from muster.model.command import CommandRecord
from muster.model.json import JsonObject
from muster.model.stored import Page
from muster.model.text import made_suitable
from muster.nodes.message_schemas import MessageSchemas, SchemaAway, SchemaViolation, Undecodable
from muster.nodes.replies_aside import BRIEFLY, AsideMessages, Tried, registry_of
from muster.nodes.reply_names import Expecting, Known, Named, ReplyNames, ReplyTopic, ReplyValues
from muster.nodes.resolved import BadParameter

UNPARSABLE, UNMATCHED = "UNPARSABLE", "UNMATCHED"
NO_CORRELATION, VIOLATION = "NO_CORRELATION_ID", "SCHEMA_VIOLATION"
# What nobody can wait for: it is on a topic that no command has named, or was there long before the first.
IGNORED = "ignored"
UNEXPLAINED = "the reply is an error, and does not say why"
# Clocks of producers and brokers are not ours.
CLOCKS_APART = timedelta(minutes=5)

log = logging.getLogger(__name__)


class Replies(Known, Protocol):
    async def topics(self) -> Collection[ReplyTopic]:
        """Where commands have their replies. Raises `NotWritten`."""
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
    ignored: Sequence[Message] = ()


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
        self._look_now, self._aside, self._values = look_now, aside, ReplyValues(schemas)
        self._names = ReplyNames(replies, self._values)
        self._topics: Mapping[str, Sequence[ReplyTopic]] = {}

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        until = asyncio.get_running_loop().time() + BRIEFLY
        found = _Sorted()
        named, expecting = await self._named(batch.messages, found, until)
        for each in named:
            await self._sort(found, each, expecting, until)
        if found.aside and self._aside is None:
            raise NotWritten("the schemas of replies cannot be had")
        await self._receive(found)
        if found.aside and self._aside is not None:
            await self._aside.put(found.aside)
        return found.rejected

    async def again(self, messages: Sequence[Message]) -> Tried:
        """Messages that were set aside: registries are waited for, side by side, and one that is still away
        is asked once."""
        found = _Sorted()
        named, expecting = await self._named(messages, found)
        by_registry: dict[object, list[Named]] = {}
        for each in named:
            expected = expecting.get(each.correlation or "")
            schema = expected.schema if expected is not None else None
            by_registry.setdefault(registry_of(schema or {}), []).append(each)

        async def sort(mine: Sequence[Named]) -> None:
            for place, each in enumerate(mine):
                before = len(found.aside)
                await self._sort(found, each, expecting)
                if len(found.aside) > before and not each.is_away:
                    found.aside += [left.message for left in mine[place + 1 :]]
                    return

        await asyncio.gather(*map(sort, by_registry.values()))
        await self._receive(found)
        return Tried(found.rejected, found.aside)

    async def topics(self) -> Collection[str]:
        """The topics that messages are wanted from. Raises `NotWritten`."""
        return (await self._look_for_topics()).keys()

    async def _named(
        self, messages: Sequence[Message], found: _Sorted, until: float | None = None
    ) -> tuple[Sequence[Named], Mapping[str, Expecting]]:
        """Those that may be replies, with their correlation ids, and what is expected under these."""
        topics = await self._topics_of(messages)
        wanted = [message for message in messages if _may_be_a_reply(message, topics)]
        found.ignored = [message for message in messages if not _may_be_a_reply(message, topics)]
        return await self._names.of(wanted, topics, until)

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

    async def _sort(
        self,
        found: _Sorted,
        named: Named,
        expecting: Mapping[str, Expecting],
        until: float | None = None,
    ) -> None:
        """`until` is when nobody is waited for any longer, in the time of the loop."""
        message, correlation = named.message, named.correlation
        if named.is_away:
            found.aside.append(message)
            return
        if correlation is None:
            found.rejected.append(_nameless(named))
            return
        expected = expecting.get(correlation)
        if expected is None:
            told = f"no command has the correlation id {correlation[:100]!r}"
            found.rejected.append(Rejected(message, UNMATCHED, told))
            return
        headers, error = _headers(message), _error(message)
        try:
            payload = await self._values.read(message, expected.schema, until)
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

    async def _receive(self, found: _Sorted) -> None:
        await self._receive_replies(found)
        for each in found.rejected:
            self._observer.received(each.message.topic, each.type.lower(), None)
        for message in found.ignored:
            self._observer.received(message.topic, IGNORED, None)

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


def _nameless(named: Named) -> Rejected:
    if named.wrong is not None:
        return Rejected(named.message, UNPARSABLE, f"no header {CORRELATION_ID}, and {named.wrong}")
    return Rejected(named.message, NO_CORRELATION, f"neither a header {CORRELATION_ID} nor a field has one")


def _headers(message: Message) -> JsonObject:
    """By their names; the last of those that come several times."""
    return {_text(name.encode()): _text(value) for name, value in message.headers}


def _error(message: Message) -> str | None:
    header = message.header(ERROR_MESSAGE)
    return None if header is None else _text(header).strip() or UNEXPLAINED


def _text(data: bytes) -> str:
    return made_suitable(data.decode(errors="replace"))
