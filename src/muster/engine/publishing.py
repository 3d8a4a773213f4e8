"""Publishing the outbox: each message of a stream once, in its order, whatever dies.

The bus has a marker of its own for each stream: the place up to which it was published. A transaction of the
bus carries messages and the marker together, so the marker is the truth about what is there; the database
only remembers. The rules, and why they are so, are in `docs/outbox.md`.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypeAlias, assert_never

from muster.engine.bus import BusAway, Outgoing
from muster.engine.outbox import Stream

LOOK_EVERY = 1.0
# Only a person can put right what contradicts itself; until then it is looked at now and then.
LOOK_AT_PROBLEMS_EVERY = 10.0

log = logging.getLogger(__name__)


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
    """A stream that this publisher has leased. `name` is what it is called on the bus."""

    stream: Stream
    name: str
    fence: int


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

    async def claim(self, held: Held, after: int, published: int, most: int) -> Sequence[Queued]:
        """What follows the place `after`, so many at most: what has a place already, or else what is given
        one now, durably. Notes that all up to `published` is on the bus, and keeps the stream for another
        lease. Raises `Overtaken`."""
        ...

    async def mark(self, held: Held, published: int) -> None:
        """Mark all up to `published` that is not marked yet, and tell those who wait for that, once. It is
        true whoever says so: no fence is needed."""
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

    def stopped(self, stream: Stream, problem: str | None) -> None:
        """None: it goes on."""
        ...


@dataclass(slots=True)
class Tenure:
    """A stream in our hands: all up to `last` is on the bus, and all up to `marked` is marked so, or being
    marked, while the next is sent."""

    held: Held
    channel: Channel
    last: int
    marked: int = -1
    marking: asyncio.Task[None] | None = None


class StreamPublisher:
    """Publishes one stream, whenever this instance has it. `linger` is how many seconds the first of several
    messages waits for others."""

    def __init__(
        self,
        stream: Stream,
        streams: OutboxStreams,
        channels: Channels,
        observer: PublishingObserver,
        batch_size: int,
        linger: float = 0.0,
    ) -> None:
        self._stream, self._streams, self._channels = stream, streams, channels
        self._observer, self._batch_size, self._linger = observer, batch_size, linger
        self._tenure: Tenure | None = None

    async def work(self) -> float:
        """Publish all that waits, if the stream is ours or free; when to come again. Who fails at anything
        takes over anew the next time."""
        try:
            return await self._work()
        except BaseException:
            await self._give_up()
            raise

    async def _work(self) -> float:
        if self._tenure is None:
            taken = await self._take_over()
            if not isinstance(taken, Tenure):
                return taken
            self._tenure = taken
        elif self._linger:
            await asyncio.sleep(self._linger)
        try:
            await self._publish(self._tenure)
        except Overtaken:
            log.info("the stream %s is published by another instance now", self._stream)
            await self._give_up()
        return LOOK_EVERY

    @property
    def has_it(self) -> bool:
        """Whether the stream is published here."""
        return self._tenure is not None

    async def leave(self) -> None:
        """Let others have the stream at once."""
        held = self._tenure.held if self._tenure is not None else None
        await self._give_up()
        if held is not None:
            await self._streams.release(held)

    async def _give_up(self) -> None:
        tenure, self._tenure = self._tenure, None
        if tenure is not None:
            if tenure.marking is not None:
                # Whatever becomes of it: who takes over marks what is not.
                await asyncio.gather(tenure.marking, return_exceptions=True)
            await tenure.channel.close()

    # --- taking over --------------------------------------------------------------------------------

    async def _take_over(self) -> Tenure | float:
        """In this order: the fence of the database, so that nobody gives further places under an earlier one;
        that of the bus, so that nobody publishes; the marker; and only then what the database knows. When
        to look again: the stream is not to be had."""
        held = await self._streams.lease(self._stream)
        if held is None:
            return LOOK_EVERY
        channel = self._channels.open(held.name)
        try:
            marker = await channel.begin()
            standing = await self._streams.standing(self._stream)
            taken = await self._taken(Tenure(held, channel, marker), take_over(held.fence, standing, marker))
        except BaseException:
            await channel.close()
            raise
        if not isinstance(taken, Tenure):
            await channel.close()
        return taken

    async def _taken(self, tenure: Tenure, found: Takeover) -> Tenure | float:
        match found:
            case GoOn():
                self._observer.took_over(self._stream)
                self._observer.stopped(self._stream, None)
                return tenure
            case Leave():
                return LOOK_EVERY
            case Stop(problem):
                log.error("the stream %s is not published: %s", self._stream, problem)
                self._observer.stopped(self._stream, problem)
                await self._streams.stop(tenure.held, problem)
                return LOOK_AT_PROBLEMS_EVERY
            case _:
                assert_never(found)

    # --- publishing ---------------------------------------------------------------------------------

    async def _publish(self, tenure: Tenure) -> None:
        self._mark(tenure)  # what an earlier one has published
        batch = await self._next(tenure, tenure.last)
        while batch:
            batch = await self._send_and_claim(tenure, batch)
            await self._marked(tenure)
            self._mark(tenure)
        await self._marked(tenure)

    async def _send_and_claim(self, tenure: Tenure, batch: Sequence[Queued]) -> Sequence[Queued]:
        """Publish a batch, and say what is next. Where more lies ready, it is claimed meanwhile."""
        if len(batch) < self._batch_size:
            await self._send(tenure, batch)
            return await self._next(tenure, tenure.last)
        claiming = asyncio.create_task(self._next(tenure, batch[-1].seq))
        try:
            await self._send(tenure, batch)
            return await claiming
        finally:
            await asyncio.gather(claiming, return_exceptions=True)

    async def _next(self, tenure: Tenure, after: int) -> Sequence[Queued]:
        return await self._streams.claim(tenure.held, after, tenure.last, self._batch_size)

    def _mark(self, tenure: Tenure) -> None:
        if tenure.marked < tenure.last:
            tenure.marked = tenure.last
            tenure.marking = asyncio.create_task(self._streams.mark(tenure.held, tenure.last))

    async def _marked(self, tenure: Tenure) -> None:
        if tenure.marking is not None:
            await tenure.marking

    async def _send(self, tenure: Tenure, batch: Sequence[Queued]) -> None:
        """Publish a batch. If the bus refuses one of its messages, that one alone is left out."""
        check_places(tenure.last, batch)
        try:
            await tenure.channel.send(batch)
        except Unpublishable as refused:
            await self._send_rest(tenure, batch, refused.reasons)
        else:
            tenure.last = batch[-1].seq
            self._observer.published(self._stream, batch)

    async def _send_rest(self, tenure: Tenure, batch: Sequence[Queued], reasons: Mapping[int, str]) -> None:
        if not reasons and len(batch) > 1:
            middle = len(batch) // 2
            await self._send(tenure, batch[:middle])
            await self._send(tenure, batch[middle:])
            return
        if not reasons.keys() & {queued.seq for queued in batch if not queued.refused}:
            raise BusAway(f"the bus refuses the stream {self._stream} and does not say why")
        # Durable first: whoever takes over has to leave out the same.
        await self._streams.refuse(tenure.held, reasons)
        self._observer.refused(self._stream, reasons)
        left_out = [replace(each, refused=each.refused or each.seq in reasons) for each in batch]
        await self._send(tenure, left_out)


def check_places(last: int, batch: Sequence[Queued]) -> None:
    """A transaction carries what follows what is there, and leaves nothing out. Raises `Broken`."""
    places = [queued.seq for queued in batch]
    if places != list(range(last + 1, last + 1 + len(batch))):
        raise Broken(f"after {last} came {places[:3]} … {places[-1]}, {len(places)} in all")
