"""The outbox: messages that are kept with what they tell of, and published from there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from muster.engine.bus import Headers
from muster.model.stored import Page


class Stream(StrEnum):
    """What is published in order, one after the other: who floods one keeps nobody in another waiting."""

    EXECUTIONS = "executions"
    WATCH = "watch"


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message that is published once what it is written with is committed: exactly once, after all that
    were committed to its stream before. One with an `id` that is there already is not written again.

    `reference` is the sender's: whoever gave it is told, by it, that the message was published or refused.
    """

    id: str
    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    reference: str | None = None
    institute_id: str = ""
    stream: Stream = Stream.EXECUTIONS


class Written:
    """Lets who publishes look at once when messages were written: in this process, or by `elsewhere` in
    others, where the stream is not published here. Nothing depends on it: who hears nothing looks every
    second."""

    def __init__(self) -> None:
        self._hearing: dict[Stream, tuple[Callable[[], None], Callable[[], bool]]] = {}
        self.elsewhere: Callable[[Stream], None] | None = None

    def hear(self, stream: Stream, wake: Callable[[], None], is_ours: Callable[[], bool]) -> None:
        """`is_ours` says whether the stream is published here."""
        self._hearing[stream] = (wake, is_ours)

    def tell(self, stream: Stream) -> None:
        """Messages of this stream were committed here."""
        if not self.heard(stream) and self.elsewhere is not None:
            self.elsewhere(stream)

    def heard(self, stream: Stream) -> bool:
        """Messages of this stream were committed somewhere; whether it is published here."""
        wake, is_ours = self._hearing.get(stream, (None, None))
        if wake is None or is_ours is None:
            return False
        wake()
        return is_ours()


class MessageStatus(StrEnum):
    """It waits to be published; it is on the bus; the bus does not take it."""

    PENDING = "pending"
    PUBLISHED = "published"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A message as people see it: what it says is its reader's affair."""

    id: int
    message_id: str
    institute_id: str
    stream: str
    seq: int | None
    topic: str
    key: bytes | None
    reference: str | None
    size: int
    status: MessageStatus
    created_at: datetime
    published_at: datetime | None
    error: str | None


@dataclass(frozen=True, slots=True)
class StreamState:
    """How a stream stands. `owner` is who publishes it; `problem` is why nobody does."""

    stream: str
    pending: int
    oldest: datetime | None
    published_seq: int
    owner: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class WantedMessages:
    """Which messages a list is to show. None: whichever."""

    stream: Stream | None = None
    status: MessageStatus | None = None
    topic: str | None = None
    reference: str | None = None


class OutboxRecords(Protocol):
    """The outbox, for people to look at."""

    async def list(
        self, institute_id: str | None, wanted: WantedMessages, page: Page
    ) -> tuple[Sequence[OutboxEntry], str | None]:
        """Newest first, and the cursor of the next page. Raises `BadCursor`."""
        ...

    async def streams(self) -> Sequence[StreamState]: ...


class NotStopped(Exception):
    """The stream goes on by itself: there is nothing to put right."""


class Renewal(Protocol):
    """For a person who has looked at why a stream stopped."""

    async def renew(self, stream: Stream, actor: str, reason: str) -> StreamState:
        """Begin anew: what is not marked as published is published, whatever the bus has. Raises
        `NotStopped`; nothing was changed then."""
        ...
