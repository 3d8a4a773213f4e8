"""Who publishes a stream of the outbox. Messages are claimed, sent and marked beside each other: those that
are written while others are sent have their places by the time that those are there."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import assert_never

from muster.engine.bus import BusAway
from muster.engine.outbox import Stream
from muster.engine.publishing import (
    LOOK_EVERY,
    Channel,
    Channels,
    GoOn,
    Held,
    Leave,
    OutboxStreams,
    Overtaken,
    PublishingObserver,
    Queued,
    Stop,
    Takeover,
    Unpublishable,
    check_places,
    take_over,
)
from muster.engine.stream_keeping import keeping
from muster.kit.tasks import ended

# Only a person can put right what contradicts itself; until then it is looked at now and then.
LOOK_AT_PROBLEMS_EVERY = 10.0
# What was published is noted once nothing has come for so long, and marked so often at most: neither keeps
# those waiting who come meanwhile, but both take from the database what these need.
QUIET = 0.02

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Tenure:
    """A stream in our hands. All up to `last` is on the bus, all up to `noted` is known by the stream to be,
    and all up to `marked` is marked so; all up to `claimed` has been claimed, and what of it is not being
    sent is `ready`."""

    held: Held
    channel: Channel
    last: int
    claimed: int = field(init=False)
    noted: int = -1
    marked: int = -1
    ready: list[Queued] = field(default_factory=list)
    sending: asyncio.Task[None] | None = None
    marking: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.claimed = self.last

    @property
    def is_sending(self) -> bool:
        """Raises what it failed with."""
        _raise_failure(self.sending)
        return self.sending is not None and not self.sending.done()


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
        # Whether messages may be waiting; and whether that, or what is ready, has changed.
        self._are_waiting = False
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Messages were written: look for them now, if others are just being published."""
        self._are_waiting = True
        self._changed.set()

    async def work(self) -> float:
        """Publish all that waits, if the stream is ours or free; when to come again. Who fails at anything
        takes over anew the next time."""
        try:
            return await self._work()
        except BaseException:
            await self._give_up()
            raise

    async def _work(self) -> float:
        try:
            if self._tenure is None:
                taken = await self._take_over()
                if not isinstance(taken, Tenure):
                    return taken
                self._tenure = taken
            elif self._linger:
                await asyncio.sleep(self._linger)
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
        if tenure is None:
            return
        # Whatever becomes of both: who takes over finds what is on the bus, and marks what is not marked.
        if tenure.sending is not None:
            await ended(tenure.sending)
        if tenure.marking is not None:
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
            marker = await keeping(self._streams, held, channel.begin())
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
                return tenure
            case Leave():
                return LOOK_EVERY
            case Stop(problem):
                log.error("the stream %s is not published: %s", self._stream, problem)
                await self._streams.stop(tenure.held, problem)
                return LOOK_AT_PROBLEMS_EVERY
            case _:
                assert_never(found)

    # --- publishing ---------------------------------------------------------------------------------

    async def _publish(self, tenure: Tenure) -> None:
        """Until nothing waits, and what was published is noted and marked."""
        self._are_waiting = True
        self._mark(tenure)  # what an earlier one has published
        while self._are_waiting or tenure.is_sending or tenure.noted < tenure.last:
            self._changed.clear()
            if self._are_waiting and len(tenure.ready) < self._batch_size:
                await self._claim(tenure)
            elif tenure.is_sending:
                await self._changed.wait()
            else:
                await self._note_soon()
            _raise_failure(tenure.marking)
        if tenure.marking is not None:
            await tenure.marking

    async def _note_soon(self) -> None:
        """A claim notes what was published: if none is needed for a while, there is one for that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET):
                await self._changed.wait()
        self._are_waiting = True

    async def _claim(self, tenure: Tenure) -> None:
        """Make ready what is next."""
        self._are_waiting, last = False, tenure.last
        found = await self._streams.claim(tenure.held, tenure.claimed, last, self._batch_size)
        tenure.noted = last
        if not found:
            return
        tenure.ready += found
        tenure.claimed = found[-1].seq
        self._are_waiting |= len(found) == self._batch_size
        if not tenure.is_sending:
            tenure.sending = asyncio.create_task(self._send_ready(tenure))
            tenure.sending.add_done_callback(lambda _: self._changed.set())

    async def _send_ready(self, tenure: Tenure) -> None:
        while tenure.ready:
            batch, tenure.ready = tenure.ready[: self._batch_size], tenure.ready[self._batch_size :]
            self._changed.set()  # there is room for more
            await keeping(self._streams, tenure.held, self._send(tenure, batch))
            self._mark(tenure)

    def _mark(self, tenure: Tenure) -> None:
        _raise_failure(tenure.marking)
        if tenure.marking is None or tenure.marking.done():
            tenure.marking = asyncio.create_task(self._mark_sent(tenure))

    async def _mark_sent(self, tenure: Tenure) -> None:
        while tenure.marked < tenure.last:
            last = tenure.last
            await self._streams.mark(tenure.held, tenure.marked, last)
            tenure.marked = last
            await asyncio.sleep(QUIET)

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


def _raise_failure(task: asyncio.Task[None] | None) -> None:
    if task is not None and task.done():
        task.result()
