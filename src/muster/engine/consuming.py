"""Consuming: batches of messages are handed to a handler, and only when it is done the position moves on.

What was fetched is dealt with before anything else is fetched, however often that fails: it is tried again
for as long as the store or the bus is away, and what fails for another reason three times over is narrowed
down by halves until the one message that fails by itself is a dead letter.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from muster.engine.bus import (
    ERROR_MESSAGE,
    ERROR_TIMESTAMP,
    ERROR_TYPE,
    ORIGINAL_TOPIC,
    AlreadyHandled,
    Batch,
    Bus,
    BusAway,
    Handler,
    Headers,
    Member,
    Message,
    Outgoing,
    Place,
    Position,
    Positions,
    Refused,
    Rejected,
    TooLarge,
    Topics,
    dead_letter_topic,
    records_positions,
)
from muster.kit.clock import Clock
from muster.kit.loop import Loop

T = TypeVar("T")

FETCHED_AT_ONCE = 500
FAILURES_BEFORE_HALVING = 3
PATIENCE = 1.0
HOLD_EVERY = 3.0
LOOK_FOR_TOPICS_EVERY = 1.0
LOOK_AT_LAG_EVERY = 5.0
# A header is read by people, and counts towards the size of a message.
LONGEST_REASON = 1_000

log = logging.getLogger(__name__)


class MessageLetters(Protocol):
    """Dead letters of messages."""

    async def keep(self, rejected: Sequence[Rejected]) -> None:
        """Durable when this returns; a message that is there is not kept a second time. Raises
        `NotWritten`."""
        ...


class ConsumerObserver(Protocol):
    """Hears what becomes of messages."""

    def handled(self, messages: Sequence[Message]) -> None: ...

    def rejected(self, rejected: Sequence[Rejected]) -> None: ...

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        """How many messages wait in the partitions that this member has."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """Messages that are dealt with together, and how often that has failed."""

    messages: Sequence[Message]
    failures: int = 0

    def halves(self) -> tuple["Part", "Part"]:
        """Each is narrowed down further by its next failure; only a message alone has as many chances as all
        had together, since it may be none of its fault. The first half comes first, so that every partition
        keeps its order."""
        middle = len(self.messages) // 2
        return _narrowed(self.messages[:middle]), _narrowed(self.messages[middle:])


def _narrowed(messages: Sequence[Message]) -> Part:
    return Part(messages, FAILURES_BEFORE_HALVING - 1 if len(messages) > 1 else 0)


class Consumer:
    """One member of a group, and what it does with its messages.

    `positions` None: the handler records none itself; else it is one that says it does
    (`records_positions`). `trouble` is what says that the store is away. What will never be dealt with goes
    to the topic that `letter_topic` says for its own.
    """

    def __init__(
        self,
        bus: Bus,
        group: str,
        topics: Topics,
        handler: Handler,
        letters: MessageLetters,
        clock: Clock,
        observer: ConsumerObserver,
        trouble: tuple[type[Exception], ...],
        positions: Positions | None = None,
        letter_topic: Callable[[str], str] = dead_letter_topic,
        topics_every: float = LOOK_FOR_TOPICS_EVERY,
    ) -> None:
        if positions is not None and not records_positions(handler):
            raise ValueError("what the handler has dealt with would not be known: it records no positions")
        self._letter_topic, self._topics_every = letter_topic, topics_every
        self._bus, self._member, self._topics, self._handler = bus, bus.member(group), topics, handler
        self._letters, self._clock, self._observer = letters, clock, observer
        self._trouble: tuple[type[Exception], ...] = (*trouble, BusAway)
        self._positions = positions
        self._parts: deque[Part] = deque()
        self._recorded: dict[Place, int | None] = {}
        self._subscribed: frozenset[str] = frozenset()
        self._looked_for_topics = self._looked_at_lag = float("-inf")
        self._own_topics: set[str] = set()
        self._stopping = asyncio.Event()
        self._loop = Loop(f"messages of {group}", self.work, self._trouble)

    @property
    def member(self) -> Member:
        return self._member

    def look_for_topics(self) -> None:
        """Something may have changed: look before the next fetch."""
        self._looked_for_topics = float("-inf")
        self._loop.wake()

    def retire(self) -> None:
        """Fetch nothing more."""
        self._stopping.set()

    async def run(self) -> None:
        """Go on until stopped or cancelled."""
        await self._loop.run()

    async def stop(self) -> None:
        """Fetch nothing more, finish what is being dealt with, and let the others have the partitions."""
        self.retire()
        await self._loop.stop()
        await self._member.leave()

    async def work(self) -> float:
        """Deal with what was fetched, or else with what comes within `PATIENCE`; the next pass is wanted at
        once."""
        await self._subscribe()
        if not self._parts:
            await self._fetch()
        else:
            await self._member.hold()
        try:
            while self._parts:
                await self._deal_with_first()
        except Exception:
            # However long that goes on: how much waits meanwhile is known.
            await self._look_at_lag()
            raise
        await self._look_at_lag()
        return 0.0 if self._subscribed and not self._stopping.is_set() else self._topics_every

    async def _subscribe(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._looked_for_topics < self._topics_every:
            return
        wanted = frozenset(await self._topics())
        if wanted != self._subscribed:
            await self._member.subscribe(wanted)
            self._subscribed = wanted
        self._looked_for_topics = now

    async def _fetch(self) -> None:
        if not self._subscribed or self._stopping.is_set():
            return
        fetching = asyncio.ensure_future(self._member.fetch(FETCHED_AT_ONCE, PATIENCE))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((fetching, stopping), return_when=asyncio.FIRST_COMPLETED)
            if fetching.done() and (messages := fetching.result()):
                self._parts.append(Part(messages))
        finally:
            fetching.cancel()
            stopping.cancel()

    async def _look_at_lag(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._looked_at_lag >= LOOK_AT_LAG_EVERY:
            self._looked_at_lag = now
            self._observer.waiting(self._member.group, await self._member.lag())

    # --- one part ----------------------------------------------------------------------------------

    async def _deal_with_first(self) -> None:
        """Deal with the first part. It stays the first if this raises, and the next pass tries it again."""
        part = self._parts[0]
        try:
            await self._handle(part)
        except self._trouble:
            raise
        except AlreadyHandled:
            self._recorded.clear()  # and look again what is left to do
        except Exception as error:
            # The boundary of a batch: whatever a message makes of the handler, those after it are to come.
            await self._failed(part, error)
        else:
            self._parts.popleft()

    async def _failed(self, part: Part, error: Exception) -> None:
        """Raises the error until it is time to find out which message it is."""
        failures = part.failures + 1
        if failures < FAILURES_BEFORE_HALVING:
            self._parts[0] = Part(part.messages, failures)
            raise error
        if len(part.messages) > 1:
            self._parts.popleft()
            self._parts.extendleft(reversed(part.halves()))
            return
        (message,) = part.messages
        log.error("message %s failed %s times: %s", message.name, failures, type(error).__name__)
        owned = self._owned(part)
        batch = await self._still_to_do(owned)
        reason = str(error) or type(error).__name__
        rejected = [Rejected(each, type(error).__name__, reason) for each in batch.messages]
        await self._settle(owned, batch, rejected)
        self._parts.popleft()

    async def _handle(self, part: Part) -> None:
        owned = self._owned(part)
        batch = await self._still_to_do(owned)
        if not batch.messages:
            await self._settle(owned, batch)
            return
        try:
            rejected = await self._holding(self._handler(batch))
        except Refused as refused:
            await self.bury(refused.rejected)
            rest = batch.without({each.message.name for each in refused.rejected})
            if rest.messages:
                rejected = await self._holding(self._handler(rest))
                await self._settle(owned, batch, rejected)
            else:
                await self._record(batch)
                await self._settle(owned, batch)
        else:
            await self._settle(owned, batch, rejected)

    def _owned(self, part: Part) -> Sequence[Message]:
        """What is still this member's; the rest comes to who has its partition now, who begins where it was
        recorded: what was left out here is not to be recorded as done."""
        return [message for message in part.messages if self._member.owns(message.place)]

    async def _still_to_do(self, owned: Sequence[Message]) -> Batch:
        """What of these nobody has dealt with."""
        places = {message.place for message in owned}
        if self._positions is None:
            return Batch(owned)
        self._recorded = {place: at for place, at in self._recorded.items() if self._member.owns(place)}
        unknown = places - self._recorded.keys()
        if unknown:
            known = await self._positions.known(self._member.group, unknown)
            self._recorded |= {place: known.get(place) for place in unknown}
        fresh = [message for message in owned if message.offset >= (self._recorded[message.place] or 0)]
        ends = _ends(fresh)
        group = self._member.group
        return Batch(fresh, [Position(group, place, self._recorded[place], ends[place]) for place in ends])

    async def _settle(
        self, owned: Sequence[Message], batch: Batch, rejected: Sequence[Rejected] = ()
    ) -> None:
        """All of the batch is dealt with, but for what was rejected; and with it all that was owned."""
        if rejected:
            await self.bury(rejected)
            await self._record(batch)
        self._recorded |= {each.place: each.next for each in batch.positions}
        await self._member.record(_ends(owned))
        self._observer.handled(batch.messages)

    async def _record(self, batch: Batch) -> None:
        """What the handler would have recorded, had there been no dead letters."""
        if self._positions is not None:
            await self._positions.record(batch.positions)

    async def _holding(self, handling: Awaitable[T]) -> T:
        """What the handler comes to. While it takes its time, the member stays one."""
        task = asyncio.ensure_future(handling)
        try:
            while not (await asyncio.wait((task,), timeout=HOLD_EVERY))[0]:
                try:
                    await self._member.hold()
                    await self._look_at_lag()
                except BusAway as away:
                    # What is being written goes on to its end; the bus is asked again soon enough.
                    log.info("the bus cannot be told that its messages are still worked on: %s", away)
        finally:
            task.cancel()
        return task.result()

    # --- dead letters ---------------------------------------------------------------------------------

    async def bury(self, rejected: Sequence[Rejected]) -> None:
        """Durable in the topics of dead letters, and in the database, before the position moves."""
        if not rejected:
            return
        await self._make({self._letter_topic(each.message.topic) for each in rejected})
        at = self._clock.now().isoformat()
        for each in rejected:
            try:
                await self._bus.publish([self._letter(each, at)])
            except TooLarge:
                # With what is told about it, it has outgrown the bus: its value is in the database.
                await self._bus.publish([replace(self._letter(each, at), value=None)])
        await self._letters.keep(rejected)
        self._observer.rejected(rejected)

    def _letter(self, rejected: Rejected, at: str) -> Outgoing:
        return _letter(rejected, at, self._letter_topic(rejected.message.topic))

    async def _make(self, topics: Collection[str]) -> None:
        if missing := set(topics) - self._own_topics:
            await self._bus.make(missing)
            self._own_topics |= missing


def _ends(messages: Sequence[Message]) -> dict[Place, int]:
    """Where each partition goes on after these."""
    return {message.place: message.offset + 1 for message in messages}


def _letter(rejected: Rejected, at: str, topic: str) -> Outgoing:
    """The message with its key, value and headers, and what is wrong with it."""
    message = rejected.message
    told: Headers = (
        (ERROR_MESSAGE, rejected.reason[:LONGEST_REASON].encode()),
        (ERROR_TIMESTAMP, at.encode()),
        (ERROR_TYPE, rejected.type.encode()),
        (ORIGINAL_TOPIC, message.topic.encode()),
    )
    return Outgoing(topic, message.value, message.key, (*message.headers, *told))
