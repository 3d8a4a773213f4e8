"""What a node's handler is given, what it may answer, and where handlers are found.

A handler maps parameters to an outcome. It never sleeps, polls, opens a transaction of the store or touches
the engine; what it needs of the outside it is constructed with.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable
from urllib.parse import quote

from muster.engine.items import Item
from muster.engine.journal import COMPENSATION, JournalRow
from muster.engine.masking import NOTHING, Mask
from muster.engine.openings import Opening
from muster.engine.state import Failure, Phase
from muster.engine.tracing import Tracer, leaving
from muster.expr import Scope
from muster.kit.ids import named_id
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject


class Call(NamedTuple):
    """One attempt at one visit of a node, or at one item of it.

    `key` names the effect: a repeat after a crash has the same one, so that the far side can recognise it.
    `answer` is what a woken wait was given; None: its time is over. `mask` takes secrets out of what is kept
    elsewhere than in the outcome, which passes it anyway. `depth` counts the executions above this one.
    `trace` is the `traceparent` of what has started the execution, if that belongs to a trace; `tracer` is
    told of spans, if anybody is.
    """

    execution_id: str
    workflow_id: str
    institute_id: str
    node_id: str
    visit: int
    attempt: int
    scope: Scope
    item_key: str = ""
    woken: bool = False
    answer: Json = None
    mask: Mask = NOTHING
    fence: int = 0
    depth: int = 0
    trace: str | None = None
    tracer: Tracer | None = None

    @property
    def traceparent(self) -> str | None:
        """What goes along with all that leaves this call, so that whoever gets it is of the same trace. None:
        it belongs to none that anybody has recorded."""
        item = COMPENSATION if self.item_key == COMPENSATION else ""
        return leaving(self.tracer, self.execution_id, self.trace, self.node_id, self.visit, item)

    @property
    def now(self) -> datetime:
        return self.scope.now

    @property
    def key(self) -> str:
        place = f"{self.execution_id}:{self.node_id}:{self.visit}"
        return f"{place}:{self.item_key}" if self.item_key else place

    @property
    def items_path(self) -> str:
        """Where the items of this visit are read."""
        path = f"/api/workflow/executions/{self.execution_id}/nodes"
        return f"{path}?node={quote(self.node_id, safe='')}&visit={self.visit}&items=true"

    def opening_id(self, item_key: str = "", place: int = 0) -> str:
        """The id of what this attempt opens. Who tries the visit again, later or as its next owner, opens
        something else: what was written before is known by its journal row."""
        return named_id(self.now, f"{self.key}:{item_key}:{self.attempt}:{self.fence}", place)


@dataclass(frozen=True, slots=True)
class Done:
    """It is done. `output` is kept under the node's id; `changes` are merged into the context. What it
    `opens` is written with the journal row that says so, and goes its own way. `skipped`: it was done before,
    and not by this visit."""

    output: Json = None
    changes: JsonObject = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    opens: tuple[Opening, ...] = ()
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Suspend:
    """Park here until an answer comes (`WAITING`) or a time (`PAUSED`). `status` is the node's; `error` says
    what went wrong, if that is why it parks.

    What it `opens` is written with the journal row that says that the node waits. Only an answer with its
    `correlation`, if it has one, wakes it; the journal keeps that as `correlationId` of the output.
    """

    phase: Phase
    status: NodeStatus
    due: datetime | None
    output: Json = None
    error: JsonObject | None = None
    opens: tuple[Opening, ...] = ()
    correlation: str = ""


@dataclass(frozen=True, slots=True)
class Reported(Failure):
    """A failure with which something is to be written: what it `opens`, and what it `buries` if it is not
    tried again."""

    opens: tuple[Opening, ...] = ()
    buries: tuple[Opening, ...] = ()


Outcome: TypeAlias = Done | Suspend | Failure


class Effect(Protocol):
    """A node that reaches outside. Its parameters come resolved, once per item if it goes over a list."""

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure: ...


@runtime_checkable
class BatchEffect(Protocol):
    """An effect that can do many items of a list at once, which is cheaper than one after another."""

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure: ...

    def does_together(self, config: JsonObject) -> bool:
        """Whether it can for a node with this config."""
        ...

    async def together(self, items: Sequence[tuple[JsonObject, Call]]) -> Sequence[Done | Failure]:
        """What came of each, in their order. One that fails keeps no other from being done."""
        ...


class Pure(Protocol):
    """A node that only computes. Its config comes as written: what it resolves is its own affair."""

    def __call__(self, config: JsonObject, call: Call) -> Done | Failure: ...


class Wait(Protocol):
    """A node that parks: called to begin, and again with `call.woken` to look at its answer."""

    def __call__(self, params: JsonObject, call: Call) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Visit:
    """What a wait that opens one thing or many is given.

    `config` is as written. `items` come resolved, one after the other; `at_once` says how many are to be
    under way at a time, and None that the node goes over no list. `write` makes openings, and journal rows of
    items, durable. `reveal` gives the call with the institute's secrets in `_vars`, and their mask: what is
    kept has to pass that.
    """

    call: Call
    config: JsonObject
    items: Iterator[Item]
    at_once: int | None
    write: Callable[[Sequence[Opening], Sequence[JournalRow]], Awaitable[None]]
    reveal: Callable[[], Awaitable[Call | Failure]]


class Opener(Protocol):
    """A wait that looks something up before it parks or goes on, or that opens many things. It answers what
    a failed one did nevertheless, too."""

    async def __call__(self, visit: Visit) -> tuple[Outcome, Json]: ...


class Waker(Protocol):
    """An opener that goes on by computing, where its answer says all that it needs."""

    def knows_all(self, config: JsonObject, answer: Json) -> bool:
        """Whether a visit that was given this answer looks nothing up."""
        ...

    def go_on(self, config: JsonObject, call: Call) -> tuple[Outcome, Json]: ...


@dataclass(frozen=True, slots=True)
class Handlers:
    """Handlers by the registry's spelling of their node type. Those of `wakers` are `openers`, too."""

    effects: Mapping[str, Effect]
    pures: Mapping[str, Pure]
    waits: Mapping[str, Wait]
    openers: Mapping[str, Opener] = field(default_factory=dict)
    wakers: Mapping[str, Waker] = field(default_factory=dict)


def for_every_type(handlers: Handlers, types: Iterable[str]) -> Handlers:
    """These handlers, and for types that have none (or none that could undo something) one that says so:
    the node fails with a reason, and an execution never comes to what nobody can run."""
    names = [name.upper() for name in types]
    return Handlers(
        {**dict.fromkeys(names, _no_effect), **handlers.effects},
        {**dict.fromkeys(names, _nothing_to_compute), **handlers.pures},
        {**dict.fromkeys(names, _no_wait), **handlers.waits},
        handlers.openers,
        handlers.wakers,
    )


async def _no_effect(params: JsonObject, call: Call) -> Failure:
    return _not_available(call)


def _nothing_to_compute(config: JsonObject, call: Call) -> Failure:
    return _not_available(call)


def _no_wait(params: JsonObject, call: Call) -> Failure:
    return _not_available(call)


def _not_available(call: Call) -> Failure:
    return Failure("NotAvailable", f"Nodes of the type that {call.node_id} asks for cannot be run here")
