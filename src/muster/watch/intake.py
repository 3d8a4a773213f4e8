"""Taking events in, from whoever sends them: over HTTP or by a topic."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.engine.announcing import INSTITUTE, SOURCE
from muster.engine.bus import Batch, Message, Refused, Rejected, trace_of
from muster.kit.clock import Clock
from muster.kit.ids import Ids
from muster.model.json import Json
from muster.model.problems import AuthorError, Problem
from muster.model.text import is_suitable
from muster.model.watching import Event
from muster.watch.envelope import FIELDS, LONGEST_NAME, BadEvent, Bounds, read_event
from muster.watch.outage import Absence
from muster.watch.ports import Events

MOST_EVENTS = 1_000


class TooManyAtOnce(Exception):
    """More requests are under way than are let in."""


class IntakeObserver(Protocol):
    def took(self, events: int, duplicates: int, unmatched: int, how: str) -> None: ...

    def refused(self, events: int, how: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Accepted:
    event_id: str
    duplicate: bool


class Intake:
    """The way in over HTTP. `most_at_once` requests are let in; none, unless it `is_open`."""

    def __init__(
        self,
        events: Events,
        bounds: Bounds,
        clock: Clock,
        ids: Ids,
        most_at_once: int,
        observer: IntakeObserver,
        is_open: bool = True,
    ) -> None:
        self.is_open = is_open
        self._events, self._bounds, self._clock, self._ids = events, bounds, clock, ids
        self._free, self._observer = most_at_once, observer

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Raises `TooManyAtOnce`."""
        if self._free <= 0:
            raise TooManyAtOnce
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1

    async def one(
        self, told: Json, key: str | None, institute_id: str, trace: str | None = None
    ) -> Accepted | BadEvent:
        """Take one event in. `key` is its id if it has none of its own; `trace` is its sender's."""
        [answer] = await self._take([told], lambda _: key or self._ids.new(), institute_id, trace)
        return answer

    async def several(
        self, told: Sequence[Json], key: str | None, institute_id: str, trace: str | None = None
    ) -> list[Accepted | BadEvent]:
        """Take events in, in their order; each is answered by itself."""
        return await self._take(
            told, lambda place: f"{key}-{place}" if key else self._ids.new(), institute_id, trace
        )

    async def _take(
        self, told: Sequence[Json], name: Callable[[int], str], institute_id: str, trace: str | None
    ) -> list[Accepted | BadEvent]:
        at = self._clock.now()
        read = [
            _not_ours(
                read_event(
                    each, self._bounds, at, "" if _has_id(each) else name(place), institute_id, trace=trace
                )
            )
            for place, each in enumerate(told)
        ]
        good = [each for each in read if isinstance(each, Event)]
        if len(good) < len(read):
            self._observer.refused(len(read) - len(good), "http")
        taken: Iterator[bool] = iter(())
        if good:
            received = await self._events.take(good)
            taken = iter(received.duplicates)
            self._observer.took(len(good), sum(received.duplicates), received.unmatched, "http")
        return [each if isinstance(each, BadEvent) else Accepted(each.event_id, next(taken)) for each in read]


def _has_id(told: Json) -> bool:
    return isinstance(told, dict) and bool(told.get("eventId"))


def _not_ours(read: Event | BadEvent) -> Event | BadEvent:
    """Muster's own events come by the topic, with what they are of. Under their ids, which can be guessed,
    another's would be taken for them."""
    if isinstance(read, BadEvent) or read.source_system != SOURCE:
        return read
    message = f"`{SOURCE}` is the source of Muster's own events: choose another name."
    return BadEvent((Problem("NOT_ALLOWED", "/sourceSystem", message),))


# How long nobody was there, once that is known.
Away: TypeAlias = Callable[[], Awaitable[Absence | None]]


async def never_away() -> Absence | None:
    return None


class TopicIntake:
    """The way in by a topic: `engine.bus.Handler`. Names that are not among `fields` are passed over. What
    came in an `absence` of ours counts as received when it came."""

    records_positions = True

    def __init__(
        self,
        events: Events,
        bounds: Bounds,
        clock: Clock,
        limits: Limits,
        observer: IntakeObserver,
        fields: tuple[str, ...] = FIELDS,
        absence: Away = never_away,
    ) -> None:
        self._events, self._bounds, self._clock, self._limits = events, bounds, clock, limits
        self._observer, self._fields, self._absence = observer, fields, absence

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        good: list[Event] = []
        bad: list[Rejected] = []
        absence = await self._absence()
        for message in batch.messages:
            read = self._read(message, absence)
            if isinstance(read, Event):
                good.append(read)
            else:
                code = "TOO_LARGE" if read.too_large else "INVALID_EVENT"
                bad.append(Rejected(message, code, read.reason))
        if bad:
            self._observer.refused(len(bad), "topic")
            if batch.positions:
                raise Refused(bad)  # they are dead letters before what comes after them is recorded
        if good:
            received = await self._events.take(good, batch.positions)
            self._observer.took(len(good), sum(received.duplicates), received.unmatched, "topic")
        return bad

    def _read(self, message: Message, absence: Absence | None) -> Event | BadEvent:
        """Its own id, or else where it stands: a redelivery stands there, too."""
        try:
            told = read_json(message.value or b"", self._limits)
        except AuthorError as error:
            return BadEvent(error.problems)
        if isinstance(told, dict):
            told = {name: value for name, value in told.items() if name in self._fields}
        name = f"{message.topic}-{message.partition}-{message.offset}"
        at, trace = self._clock.now(), trace_of(message)
        if absence is not None:
            at = absence.received(message.at, at)
        return read_event(told, self._bounds, at, name, _tenant(message), self._fields, trace)


def _tenant(message: Message) -> str:
    """Whose event it is, where its sender says so."""
    name = (message.header(INSTITUTE) or b"").decode(errors="replace")
    return name if len(name) <= LONGEST_NAME and is_suitable(name) else ""
