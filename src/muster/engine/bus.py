"""The bus: messages on topics, published durably and consumed by groups, at least once and in order.

A topic has partitions. Messages of one key share a partition, and within it each has an offset that says its
place. All members of a group share the partitions of the topics that they subscribe to; the messages of a
partition reach one member at a time, in their order, and again after a crash if their position was not
recorded.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from muster.kit.traceparent import HEADER as TRACE_PARENT
from muster.kit.traceparent import kept_traceparent

# Names and values, in their order; a name may come more than once.
Headers: TypeAlias = tuple[tuple[str, bytes], ...]

# When messages were published whose producers give no time.
NO_TIME = datetime.fromtimestamp(0, UTC)

# What a message in a topic of dead letters tells beside its own headers.
ERROR_MESSAGE = "X-Error-Message"
ERROR_TIMESTAMP = "X-Error-Timestamp"
ERROR_TYPE = "X-Error-Type"
ORIGINAL_TOPIC = "X-Original-Topic"


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Reach(NamedTuple):
    """How far a group is in a partition, and where its messages end."""

    position: int
    end: int


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to publish. Those of one key keep their order. `value` None is what compacted topics take as
    a deletion."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A message that was consumed. (topic, partition, offset) names it as long as its topic is there: a
    redelivery has the same. `at` is when it was published; `NO_TIME`: nobody says."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    at: datetime

    @property
    def place(self) -> Place:
        return Place(self.topic, self.partition)

    @property
    def name(self) -> str:
        """What tells it from all others of its topic, for logs and batches."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def delivery(self) -> str:
        """What tells it from all others for ever. With its time: a topic that is made anew counts from
        nothing."""
        return f"{self.name}@{self.at.isoformat()}"

    def header(self, name: str) -> bytes | None:
        """The last value of a header; its name is compared without regard to case."""
        wanted = name.casefold()
        found = [value for each, value in self.headers if each.casefold() == wanted]
        return found[-1] if found else None


def trace_of(message: Message) -> str | None:
    """The `traceparent` that a message came with."""
    found = message.header(TRACE_PARENT)
    return None if found is None else kept_traceparent(found.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Position:
    """How far a batch takes a group in one partition: from where it is recorded to be, to just before `next`.
    `recorded` None: nothing is recorded yet."""

    group: str
    place: Place
    recorded: int | None
    next: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one or more partitions, each partition's in order.

    `positions` is how far the group is once all of them are dealt with. A handler may record them in the
    transaction that holds what it does (`store/positions.py`), and its effect is then exactly once; one that
    does not is called again with the same messages after a crash.
    """

    messages: Sequence[Message]
    positions: Sequence[Position] = ()

    def without(self, left_out: Collection[str]) -> "Batch":
        """The batch as if the messages of these names had been dealt with."""
        kept = [message for message in self.messages if message.name not in left_out]
        return Batch(kept, self.positions)

    def unrecorded(self) -> "Batch":
        """The messages alone: for a handler after which others come."""
        return Batch(self.messages)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A message that will never be dealt with: it goes to the dead letters, and its partition moves on.
    `reason` is for people, `type` a stable word such as `UNPARSABLE`."""

    message: Message
    type: str
    reason: str


class Refused(Exception):
    """Raised by a handler that records positions itself, having written nothing: these cannot be dealt with.
    It is called again without them once they are dead letters."""

    def __init__(self, rejected: Sequence[Rejected]) -> None:
        super().__init__(f"{len(rejected)} messages were rejected")
        self.rejected = tuple(rejected)


class AlreadyHandled(Exception):
    """Raised by who records positions: another member has dealt with some of these messages meanwhile.
    Nothing was written; the batch comes again without them."""


class BusAway(Exception):
    """The bus cannot be reached, or did not take all of the messages: some may be there, some not. May be
    tried again."""


class TooLarge(Exception):
    """The bus never takes a message of this size; none of those published with it may be there."""


class UnknownTopic(Exception):
    """The bus has no such topic, and Muster does not make other people's."""


class BadClient(Exception):
    """The bus's client does not take what it is set to; the message tells no value of that."""


# Durable when it returns: what it did, but for those that it rejects. It is called again with the same batch
# after any error; `NotWritten` means that its store is away, and then it is asked for as long as that takes.
Handler: TypeAlias = Callable[[Batch], Awaitable[Sequence[Rejected]]]


@dataclass(frozen=True, slots=True)
class Recording:
    """A handler that records the positions of its batches with what it does, though it does not say so of
    itself."""

    handler: Handler

    records_positions: ClassVar[bool] = True

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        return await self.handler(batch)


def records_positions(handler: Handler) -> bool:
    """Whether a handler says that it records the positions of its batches with what it does."""
    return bool(getattr(handler, "records_positions", False))


class Publisher(Protocol):
    async def publish(self, messages: Sequence[Outgoing]) -> Sequence[tuple[Place, int]]:
        """Publish all of them; durable when this returns, and the answer says where each is. Raises
        `BusAway`, `TooLarge`, `UnknownTopic`."""
        ...


class Member(Protocol):
    """One member of a consumer group. Its calls come one after another, from one consumer."""

    @property
    def group(self) -> str: ...

    async def subscribe(self, topics: Collection[str]) -> None:
        """Share in these topics from now on, and in no others. One that is not there is looked for again."""
        ...

    async def fetch(self, most: int, patience: float) -> Sequence[Message]:
        """Some messages that come next, or none after so many seconds. The next call gives those after them,
        recorded or not. Raises `BusAway` while the bus is away. May be cancelled, before leaving only."""
        ...

    async def hold(self) -> None:
        """Stay a member while what was fetched takes its time. Called every few seconds meanwhile."""
        ...

    def owns(self, place: Place) -> bool:
        """Whether the partition is this member's, without a break since its last message was fetched."""
        ...

    async def record(self, ends: Mapping[Place, int]) -> None:
        """Begin at these offsets next time, whichever member it is. What is not this member's any more is
        left alone."""
        ...

    async def lag(self) -> Mapping[Place, int]:
        """How many messages wait in each partition that is this member's."""
        ...

    async def reach(self) -> Mapping[Place, Reach] | None:
        """How far the whole group is in each partition of this member's topics, whoever has it. None: that is
        not known yet. Raises `BusAway`."""
        ...

    async def leave(self) -> None:
        """Let the others have its partitions at once."""
        ...


class Bus(Publisher, Protocol):
    def member(self, group: str) -> Member:
        """A new member of a group; it belongs to it from its first subscription on."""
        ...

    async def make(self, topics: Collection[str]) -> None:
        """Make topics of Muster's own where they are not there. Raises `BusAway`."""
        ...

    async def check(self) -> None:
        """Raises `BusAway` if the bus cannot be reached, with a sentence that says why."""
        ...


class Positions(Protocol):
    """Positions in the database, where handlers record them in their own transactions."""

    async def known(self, group: str, places: Collection[Place]) -> Mapping[Place, int]:
        """The offset to go on from, where one is recorded. Raises `NotWritten`."""
        ...

    async def record(self, positions: Sequence[Position]) -> None:
        """Record these by themselves. Raises `AlreadyHandled`, `NotWritten`."""
        ...


class Topics(Protocol):
    async def __call__(self) -> Collection[str]:
        """The topics that messages are wanted from now. Raises `NotWritten`."""
        ...


def in_order(*handlers: Handler) -> Handler:
    """Handlers one after another: each is given what none before it has rejected. Only the last may record
    positions."""
    *before, last = handlers

    async def handle(batch: Batch) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        for handler in before:
            rejected += await handler(batch.without(_names(rejected)).unrecorded())
        rest = batch.without(_names(rejected))
        if rejected and batch.positions:
            rest = rest.unrecorded()  # what was rejected is not a dead letter yet
        return [*rejected, *await last(rest)]

    return handle


def _names(rejected: Iterable[Rejected]) -> set[str]:
    return {each.message.name for each in rejected}


def dead_letter_topic(topic: str) -> str:
    """Where messages of a topic go that will never be dealt with.

    >>> dead_letter_topic("orders")
    'orders.dlq'
    """
    return f"{topic}.dlq"
