"""Following an execution: what has changed since a follower last looked, in the order in which it happened.

The database alone says what happened, so it does not matter which instance drives the execution, and a
follower who comes back with the place they had reached misses nothing and hears nothing twice. Of a visit
that changed several times between two looks, the last is told.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypeAlias

from muster.definitions.library import NotFound
from muster.engine.owned import OwnedExecution
from muster.engine.program import Program
from muster.engine.rebuilding import take_over
from muster.engine.state import FINAL, Phase, Token
from muster.model.access import Caller
from muster.model.aside import Unread
from muster.model.event_wait import WaitRecord
from muster.model.execution import ExecutionRow, NodeRow, NodeStatus
from muster.model.json import Json

MOST_VISITS = 500
# Whoever wants to know what runs right now replays the journal: not a very long one, once a second.
MOST_REPLAYED = 1000
MOST_RUNNING = 64
MARK = 6
MOST_WAITS = 64
PLACE = re.compile(
    r"([0-9]{1,9})\.([0-9a-f]{16})?\.(e)?\.((?:[0-9a-f]{6}){0,64})(?:\.((?:[0-9a-f]{6}){1,64}))?"
)


class BadPlace(ValueError):
    """A place that no follower was given."""


@dataclass(frozen=True, slots=True)
class Place:
    """How far a follower has come: the journal's number, what they were last told of the execution itself,
    whether that was its end, which visits they know to be running, and what they know of waits for events."""

    seq: int = 0
    told: str = ""
    ended: bool = False
    running: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    def __str__(self) -> str:
        known = f".{''.join(self.waits)}" if self.waits else ""
        return f"{self.seq}.{self.told}.{'e' if self.ended else ''}.{''.join(self.running)}{known}"

    @classmethod
    def read(cls, text: str) -> "Place":
        """Raises `BadPlace`."""
        found = PLACE.fullmatch(text)
        if found is None:
            raise BadPlace
        return cls(int(found[1]), found[2] or "", bool(found[3]), _marks(found[4]), _marks(found[5] or ""))


@dataclass(frozen=True, slots=True)
class Seen:
    """An execution as one look finds it: its visits after a number, in their order, at most `MOST_VISITS`,
    and what waits for events, at most `MOST_WAITS`."""

    row: ExecutionRow
    fence: int
    owned: bool
    output: Json
    visits: Sequence[NodeRow]
    waits: Sequence[WaitRecord] = ()

    @property
    def digest(self) -> str:
        """What is said of the execution itself, in brief. The fence tells two equal pauses apart."""
        said = repr((self.row, self.fence)).encode()
        return hashlib.blake2b(said, digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class ExecutionChanged:
    row: ExecutionRow


@dataclass(frozen=True, slots=True)
class NodeChanged:
    row: NodeRow


@dataclass(frozen=True, slots=True)
class WaitChanged:
    """What a visit waits for, and has by now."""

    row: WaitRecord


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """The last that is told."""

    row: ExecutionRow
    output: Json


Change: TypeAlias = ExecutionChanged | NodeChanged | WaitChanged | ExecutionEnded


@dataclass(frozen=True, slots=True)
class News:
    """What a look has found. Each change comes with the place that a follower has reached by it. `more`:
    there is more already. `types` are the types of the version's nodes."""

    changes: Sequence[tuple[Change, Place]]
    place: Place
    more: bool
    types: dict[str, str]


class Sightings(Protocol):
    """Executions as they are looked at."""

    async def seen(self, institute_id: str | None, execution_id: str, after: int, limit: int) -> Seen | None:
        """The execution is read before its visits: one that has ended is seen with all of them."""
        ...

    async def standing(self, execution_id: str, limit: int) -> OwnedExecution | None:
        """Its last checkpoint and the journal of visits; None: there is none, or it has more visits."""
        ...


class Following:
    """`program` finds the program of a version."""

    def __init__(self, sightings: Sightings, program: Callable[[int], Awaitable[Program]]) -> None:
        self._sightings, self._program = sightings, program

    async def look(self, execution_id: str, actor: Caller, place: Place, was_all: bool = False) -> News:
        """What has changed since. Raises `NotFound`. `was_all`: the place is where the last look ended, so
        what runs is other than it was only if something has settled."""
        seen = await self._sightings.seen(actor.institute_id, execution_id, place.seq, MOST_VISITS)
        if seen is None:
            raise NotFound(f"There is no execution {execution_id!r}")
        quiet = was_all and not seen.visits and seen.digest == place.told
        running = [] if quiet else await self.running(seen.row, seen.owned)
        changes = list(_news(seen, place, running))
        program = await self._program(seen.row.version_id)
        return News(
            changes,
            changes[-1][1] if changes else place,
            len(seen.visits) == MOST_VISITS,
            {node_id: step.node.type for node_id, step in program.steps.items()},
        )

    async def running(self, row: ExecutionRow, owned: bool) -> list[NodeRow]:
        """The visits that have begun and not settled, as far as the journal tells: what only computes is
        written with whatever comes after it."""
        if not owned:
            return []
        standing = await self._sightings.standing(row.id, MOST_REPLAYED)
        if standing is None:
            return []
        try:
            live, _ = take_over(standing, await self._program(standing.version_id))
        except Unread:
            return []  # what it decides by is large, and not worth fetching to tell what runs
        settled = {(visit.node, visit.visit) for visit in standing.journal}
        # A node begins when the last one before it has settled.
        began = max((visit.completed_at or visit.started_at for visit in standing.journal), default=None)
        return [
            _begun(token, began or row.started_at)
            for token in live.state.tokens
            if token.phase is Phase.RUNNING and (token.node, token.visit) not in settled
        ]


def _begun(token: Token, began: datetime) -> NodeRow:
    return NodeRow(
        node_id=token.node,
        visit=token.visit,
        item_key="",
        seq=0,
        status=NodeStatus.RUNNING,
        attempt=token.attempt,
        output=None,
        error=None,
        warnings=(),
        due_at=None,
        started_at=began,
        completed_at=None,
    )


def _news(seen: Seen, place: Place, running: Sequence[NodeRow]) -> Iterator[tuple[Change, Place]]:
    """What a follower at `place` has not been told. The first thing that anybody is told is how the execution
    stands; after that, it comes after the visits that have led there."""
    digest = seen.digest
    if not place.told:
        place = replace(place, told=digest)
        yield ExecutionChanged(seen.row), place
    for visit in seen.visits:
        place = replace(place, seq=visit.seq)
        yield NodeChanged(visit), place
    if len(seen.visits) == MOST_VISITS:
        return
    marks = {_mark(visit): visit for visit in running[:MOST_RUNNING]}
    known = tuple(mark for mark in place.running if mark in marks)
    place = replace(place, running=known) if running or digest != place.told else place
    for mark, visit in marks.items():
        if mark not in known:
            place = replace(place, running=(*place.running, mark))
            yield NodeChanged(visit), place
    stands = {_digest(wait): wait for wait in seen.waits}
    place = replace(place, waits=tuple(mark for mark in place.waits if mark in stands))
    for mark, wait in stands.items():
        if mark not in place.waits:
            place = replace(place, waits=(*place.waits, mark))
            yield WaitChanged(wait), place
    if place.told != digest:
        place = replace(place, told=digest, ended=False)
        yield ExecutionChanged(seen.row), place
    if seen.row.status in FINAL and not place.ended:
        yield ExecutionEnded(seen.row, seen.output), replace(place, ended=True)


def _marks(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + MARK] for start in range(0, len(text), MARK))


def _digest(wait: WaitRecord) -> str:
    """All that is told of a wait, in brief."""
    return hashlib.blake2b(repr(wait).encode(), digest_size=MARK // 2).hexdigest()


def _mark(visit: NodeRow) -> str:
    name = f"{visit.visit}/{visit.node_id}".encode()
    return hashlib.blake2b(name, digest_size=MARK // 2).hexdigest()
