"""An execution as values: where its tokens are, what it knows, what happened to it, what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from muster.model.json import Json, JsonObject

EMPTY: JsonObject = {}  # shared by all that begin: what changes a state makes a new one


class ExecutionStatus(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    PAUSED = "PAUSED"
    RESUMING = "RESUMING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


FINAL = frozenset({ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED})


class Phase(StrEnum):
    """What a token does: stands ready until it may run, runs, waits for an answer, waits for a time, waits
    for its next attempt, waits for a person to say whether it was done, stands at a join until nobody else
    can come, or marks where the execution failed."""

    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    RETRYING = "retrying"
    DOUBT = "doubt"
    JOINING = "joining"
    FAILED = "failed"


class Token(NamedTuple):
    """A place in the graph where the execution is. `visit` counts the node's runs from 1; 0 at a join.

    `woken`: it was parked and is to look at its answer. `lineage` holds the visits of `join: any` nodes that
    this token descends from: it tells a loop's next round from a slower brother of the last one.
    `correlation` names what a waiting token has opened: an answer to anything else is not for it. At the
    `deadline` the node's own `timeout` is over; one that was woken then is `late`.
    """

    node: str
    visit: int
    phase: Phase
    attempt: int = 1
    due: datetime | None = None
    woken: bool = False
    lineage: tuple[tuple[str, int], ...] = ()
    correlation: str = ""
    deadline: datetime | None = None
    late: bool = False

    def in_phase(self, phase: Phase) -> "Token":
        """The same in another phase. (Every step does this: `_replace` takes three times as long.)"""
        return Token(self.node, self.visit, phase, *self[3:])


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a node failed. `retryable` is the handler's word; the node's policy may still say no. `unsure`: it
    may have done all the same what it was to do. `keeps_open` names what it has
    opened: if it is tried again, that stays, and an answer to it comes before the next attempt. `details` are
    for the node that handles it."""

    type: str
    message: str
    retryable: bool = False
    retry_after: float | None = None
    unsure: bool = False
    keeps_open: str = ""
    details: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """The execution comes to an end other than by completing."""

    status: ExecutionStatus
    node: str | None
    failure: Failure
    compensate: bool = True


class State(NamedTuple):
    """All that deciding needs. `to_undo` are the completed visits that can be compensated, oldest first. An
    execution that failed keeps its tokens where they stood, so that it can be taken up again from there; one
    that was given up while it was being undone keeps the ending that this was for (`interrupted`).
    `has_asides`: in the context or the outputs something may stand for a large value."""

    tokens: tuple[Token, ...] = ()
    context: JsonObject = EMPTY
    outputs: JsonObject = EMPTY
    visits: Mapping[str, int] = MappingProxyType({})
    to_undo: tuple[tuple[str, int], ...] = ()
    held: bool = False
    ending: Ending | None = None
    undoing: tuple[str, int] | None = None
    finished: ExecutionStatus | None = None
    interrupted: Ending | None = None
    has_asides: bool = False

    # What every step does, by hand: `_replace` takes three times as long.

    def standing(self, tokens: tuple[Token, ...]) -> "State":
        """The same with its tokens elsewhere."""
        return State(tokens, *self[1:])

    def entered(self, tokens: tuple[Token, ...], visits: Mapping[str, int]) -> "State":
        """The same with its tokens elsewhere, after further visits."""
        return State(tokens, self.context, self.outputs, visits, *self[4:])

    def knowing(
        self, context: JsonObject, outputs: JsonObject, to_undo: tuple[tuple[str, int], ...]
    ) -> "State":
        """The same once a visit is done."""
        return State(self.tokens, context, outputs, self.visits, to_undo, *self[5:])

    @property
    def status(self) -> ExecutionStatus:
        """RUNNING while any token runs, else WAITING if any waits, else PAUSED."""
        if self.finished:
            return self.finished
        phases = {token.phase for token in self.tokens}
        if Phase.RUNNING in phases or self.undoing:
            return ExecutionStatus.RUNNING
        if self.held:
            return ExecutionStatus.PAUSED
        waits = Phase.WAITING in phases or Phase.DOUBT in phases
        return ExecutionStatus.WAITING if waits else ExecutionStatus.PAUSED

    @property
    def resume_at(self) -> datetime | None:
        if self.finished or self.ending:
            return None
        return min((token.due for token in self.tokens if token.due), default=None)


# --- what happened ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    context: JsonObject


class Completed(NamedTuple):
    """A visit is done: `output` is kept under the node's id, `changes` are merged into the context. One that
    was `skipped` did nothing, and so has nothing to undo."""

    node: str
    visit: int
    output: Json
    changes: JsonObject
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt failed. `chance`, from 0 to 1, is the jitter's: randomness is an argument."""

    node: str
    visit: int
    failure: Failure
    chance: float = 1.0


@dataclass(frozen=True, slots=True)
class Retrying:
    """An attempt failed, and the next one was decided on: what the journal says of it. What it has opened
    under `correlation` may be answered before."""

    node: str
    visit: int
    attempt: int
    due: datetime
    correlation: str = ""


@dataclass(frozen=True, slots=True)
class Suspended:
    """A visit is parked: on an answer (`WAITING`), only on a time (`PAUSED`), or until a person says whether
    it was done (`DOUBT`). It is woken when it is `due`, which is no later than its `deadline`."""

    node: str
    visit: int
    phase: Phase
    due: datetime | None
    correlation: str = ""
    deadline: datetime | None = None


class Woken(NamedTuple):
    """What a parked visit stood for has come: its answer, or its time. With a `correlation` it is the answer
    to what was opened under that name, and to nothing else."""

    node: str
    visit: int
    correlation: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """A person has said of a visit in doubt that it is to be done again, or that it was done, with this
    output."""

    node: str
    visit: int
    redo: bool
    output: Json = None


@dataclass(frozen=True, slots=True)
class Undone:
    """The compensation that was under way is done, or has failed for good."""

    node: str
    visit: int
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    reason: str
    compensate: bool = False


@dataclass(frozen=True, slots=True)
class GivenUp:
    """It brings down whoever drives it: nothing of it is run again, not even what would undo it."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Held:
    """Paused by hand: nothing new begins until `Released`."""


@dataclass(frozen=True, slots=True)
class Released:
    pass


Event: TypeAlias = (
    Started
    | Completed
    | Failed
    | Retrying
    | Suspended
    | Woken
    | Decided
    | Undone
    | Cancelled
    | GivenUp
    | Held
    | Released
)


# --- what to do ------------------------------------------------------------------------------------


class Run(NamedTuple):
    """Run this attempt of this visit. `woken`: it was parked before, and is to look at its answer."""

    node: str
    visit: int
    attempt: int
    woken: bool = False


class Undo(NamedTuple):
    """Run the compensation of this visit."""

    node: str
    visit: int


@dataclass(frozen=True, slots=True)
class Finish:
    """Record the end. Nothing happens to the execution after it."""

    status: ExecutionStatus
    ending: Ending | None = None


Todo: TypeAlias = Run | Undo | Finish


class Decision(NamedTuple):
    """The answer of `advance`: the state from now on, and what has to be done."""

    state: State
    todo: tuple[Todo, ...] = ()
