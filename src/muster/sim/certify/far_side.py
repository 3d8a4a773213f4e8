"""What effects reach: it keeps what it was told, and by which key, and answers in a chosen order."""

import asyncio
import hashlib
from collections.abc import Sequence
from contextvars import Context, ContextVar
from dataclasses import dataclass
from typing import Protocol

from muster.engine.handlers import Call
from muster.engine.journal import COMPENSATION
from muster.sim.certify.choices import UNANSWERED, Choices
from muster.sim.world import Process, World, current_process

# Until then whatever runs beside it has come here, too: nothing that an instance does takes as long.
GATHER_SECONDS = 0.01
CALL: ContextVar[Call] = ContextVar("muster_certified_call")


@dataclass(frozen=True, slots=True)
class Place:
    """Which effect it is, whatever its key may be. `execution` is the execution's role."""

    execution: str
    node: str
    visit: int
    item: str = ""

    def __str__(self) -> str:
        item = " (undo)" if self.item == COMPENSATION else f" [{self.item}]" if self.item else ""
        return f"{self.execution}{named(self.node, self.visit)}{item}"


def named(node: str, visit: int) -> str:
    return f"{node} (visit {visit})" if visit > 1 else node


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that was done outside. Without a `key` nobody there can tell a repeat of it; what `reads`
    does no harm by being repeated. `body` is a digest of what was sent."""

    place: Place
    what: str
    key: str | None
    body: str = ""
    reads: bool = False


@dataclass(frozen=True, slots=True)
class _Underway:
    name: str
    node: str
    rank: tuple[str, int]
    client: Process | None
    turn: "asyncio.Future[None]"


class Known(Protocol):
    """What is known of executions by the database."""

    async def role(self, execution_id: str) -> str:
        """The name that it has in every run."""
        ...

    async def is_done(self, call: Call) -> bool:
        """Whether the journal has it as done."""
        ...


class FarSide:
    """What comes together is usually answered in the `order` of the nodes. `again` are effects that were
    begun although it was known that they are done."""

    def __init__(self, world: World, choices: Choices, known: Known, order: Sequence[str]) -> None:
        self._world, self._choices, self._known = world, choices, known
        self._order = {node: place for place, node in enumerate(order)}
        self._underway: list[_Underway] = []
        self.effects: list[Effect] = []
        self.again: list[Effect] = []

    async def take(self, what: str, key: str | None, body: object = "", reads: bool = False) -> str:
        """Do what the call asks for; its turn to be answered has come when this returns. The name of it."""
        call = CALL.get()
        role = await self._known.role(call.execution_id)
        place = Place(role, call.node_id, call.visit, call.item_key)
        effect = Effect(place, what, key, _digest(body), reads)
        self.effects.append(effect)
        if await self._known.is_done(call):
            self.again.append(effect)
        name = f"{place} (attempt {call.attempt})" if call.attempt > 1 else str(place)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        rank = (place.execution, self._order.get(place.node, 0))
        node = f"{place.execution}{place.node}"
        self._underway.append(_Underway(name, node, rank, current_process(), turn))
        if len(self._underway) == 1:
            self._answer_soon()
        await turn
        return name

    def is_answered(self, name: str) -> bool:
        """Whether its answer comes in time."""
        answered = f"{name}: answered"
        return self._choices.among((answered, f"{name}: {UNANSWERED}")) == answered

    def has_done(self, place: Place) -> bool:
        return any(effect.place == place for effect in self.effects)

    def _answer_soon(self) -> None:
        self._world.loop.call_later(GATHER_SECONDS, self._answer, context=Context())

    def _answer(self) -> None:
        """Answer one of those that wait: the first of each node may be next."""
        self._underway = [each for each in self._underway if each.client is None or each.client.alive]
        first: dict[str, _Underway] = {}
        for each in sorted(self._underway, key=lambda each: each.rank):
            first.setdefault(each.node, each)
        if first:
            chosen = self._choices.among([each.name for each in first.values()])
            next_ = next(each for each in first.values() if each.name == chosen)
            self._underway.remove(next_)
            next_.turn.set_result(None)
        if self._underway:
            self._answer_soon()


def _digest(body: object) -> str:
    raw = body if isinstance(body, bytes) else repr(body).encode()
    return hashlib.sha256(raw).hexdigest()[:16] if body else ""
