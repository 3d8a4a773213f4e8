"""Publishing the outbox: each message of a stream once, in its order, whatever dies.

The bus has a marker of its own for each stream: the place up to which it was published. A transaction of the
bus carries messages and the marker together, so the marker is the truth about what is there; the database
only remembers. The rules, and why they are so, are in `docs/outbox.md`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from muster.engine.bus import Outgoing
from muster.engine.outbox import Stream

LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Queued:
    """A message with its place in the stream. `refused`: the bus does not take it, and nothing of it is
    published; its place stays."""

    seq: int
    message: Outgoing
    created_at: datetime
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """A stream that this publisher has leased, for so long from when it was last kept. `name` is what it is
    called on the bus."""

    stream: Stream
    name: str
    fence: int
    lease: timedelta


@dataclass(frozen=True, slots=True)
class Standing:
    """What the database knows of a stream: up to where places were given, and were marked as published."""

    fence: int
    next_seq: int
    published_seq: int


@dataclass(frozen=True, slots=True)
class GoOn:
    """All up to `last` is on the bus; what has a later place is not."""

    last: int


@dataclass(frozen=True, slots=True)
class Leave:
    """Somebody else has leased the stream meanwhile."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The database and the bus contradict each other: whatever was published now might be wrong."""

    problem: str


Takeover: TypeAlias = GoOn | Leave | Stop


def take_over(fence: int, standing: Standing, marker: int) -> Takeover:
    """What a publisher with this fence does that has found the stream so, and this marker on the bus. The
    marker was read under its fence, and the standing after that."""
    if standing.fence != fence:
        return Leave()
    if marker >= standing.next_seq:
        return Stop(
            f"the bus has messages up to {marker}, the database knows of {standing.next_seq - 1}: was an"
            " older copy of the database restored?"
        )
    if marker < standing.published_seq:
        return Stop(
            f"the bus has messages up to {marker}, {standing.published_seq} are marked as published: is it"
            " another bus, or has its topic of markers been lost?"
        )
    return GoOn(marker)


class Overtaken(Exception):
    """Somebody else has leased the stream: nothing was written."""


class Unpublishable(Exception):
    """The bus has refused a batch, and nothing of it is there. `reasons` are those of the messages that are
    to blame, by their places; none: one of them is."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__("; ".join(reasons.values()) or "a message of the batch is refused")
        self.reasons = reasons


class Broken(Exception):
    """The places of a stream have a gap, or come twice: this must not happen."""


class OutboxStreams(Protocol):
    """Streams as they are kept. All that is written carries a fence. Raises `NotWritten`."""

    async def lease(self, stream: Stream) -> Held | None:
        """Raise the fence and have the stream, if nobody else does. None: somebody has."""
        ...

    async def standing(self, stream: Stream) -> Standing:
        """Fence and places, as of one moment."""
        ...

    async def keep(self, held: Held) -> None:
        """Keep the stream for another lease. Raises `Overtaken`."""
        ...

    async def claim(self, held: Held, after: int, published: int, most: int) -> Sequence[Queued]:
        """What follows the place `after`, so many at most: what has a place already, or else what is given
        one now, durably. Notes that all up to `published` is on the bus, and keeps the stream for another
        lease. Raises `Overtaken`."""
        ...

    async def mark(self, held: Held, after: int, published: int) -> None:
        """Mark all up to `published` that is not marked yet, and tell those who wait for that, once. All up
        to `after` is. It is true whoever says so, unless the stream was renewed: then its places are other
        messages', and nothing is marked. Raises `Overtaken`."""
        ...

    async def refuse(self, held: Held, reasons: Mapping[int, str]) -> None:
        """Give messages up that have these places. Raises `Overtaken`."""
        ...

    async def stop(self, held: Held, problem: str) -> None:
        """Keep why nobody publishes the stream, for people to see."""
        ...

    async def release(self, held: Held) -> None:
        """Let others have the stream at once."""
        ...


class Channel(Protocol):
    """One producer of a stream's transactions. What raises anything but `Unpublishable` leaves it useless:
    what became of its last transaction, only the marker says."""

    async def begin(self) -> int:
        """Keep every earlier producer of the stream from publishing, then read the marker; 0: there is none.
        Raises `BusAway`."""
        ...

    async def send(self, batch: Sequence[Queued]) -> None:
        """Publish the batch and the marker of its last place, both or none. Raises `Unpublishable`."""
        ...

    async def close(self) -> None: ...


class Channels(Protocol):
    def open(self, name: str) -> Channel: ...


class PublishingObserver(Protocol):
    """Hears what becomes of streams. It is told of messages once they are on the bus."""

    def published(self, stream: Stream, batch: Sequence[Queued]) -> None: ...

    def refused(self, stream: Stream, reasons: Mapping[int, str]) -> None: ...

    def took_over(self, stream: Stream) -> None: ...


def check_places(last: int, batch: Sequence[Queued]) -> None:
    """A transaction carries what follows what is there, and leaves nothing out. Raises `Broken`."""
    places = [queued.seq for queued in batch]
    if places != list(range(last + 1, last + 1 + len(batch))):
        raise Broken(f"after {last} came {places[:3]} … {places[-1]}, {len(places)} in all")
