"""An execution as it is begun, as its owner finds it, and as its owner writes it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from muster.engine.journal import JournalRow, Signal
from muster.engine.openings import Closing, Limit, Opening
from muster.engine.state import FINAL, ExecutionStatus, Failure
from muster.model.json import Json, JsonObject
from muster.model.once import Once

FIRST_FENCE = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where an execution stands when it pauses, waits or ends. With it, its owner lets go of it. One that is
    `RUNNING` is handed on: it is due at once, for whoever looks next.

    `attempts` are those at the nodes that it failed at. `terms` are what it is found by from now on; None: as
    before. Of one that is `handed_on` nothing runs, whatever its state says is to run next.
    """

    status: ExecutionStatus
    context: JsonObject
    state: JsonObject
    current_node: str | None = None
    resume_at: datetime | None = None
    output: Json = None
    failure: Failure | None = None
    attempts: tuple[JsonObject, ...] = ()
    terms: tuple[str, ...] | None = None
    handed_on: bool = False

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def seq(self) -> int:
        """The last number of the journal that it takes account of; 0, where its state cannot be read."""
        seq = self.state.get("seq")
        return seq if isinstance(seq, int) else 0


@dataclass(frozen=True, slots=True)
class Ended:
    """All of an execution, from its first step to its end."""

    rows: tuple[JournalRow, ...]
    checkpoint: Checkpoint


class NewExecution(NamedTuple):
    """An execution about to be written, owned by who writes it; without an owner, due at once for anyone.
    One that has `ended` before it was written is written as it ended. Its `limit` may have it queued instead.
    `terms` are what it is found by, besides its tags. `once` is its key: if another has it, nothing is
    written. `delivery` is the key of the message that asks for it: if another came of that, nothing is
    written either. `trace` is the `traceparent` of what asks for it, if that belongs to a trace."""

    id: str
    workflow_id: str
    version_id: int
    institute_id: str
    owner: str | None
    context: JsonObject
    started_at: datetime
    trigger_id: str | None = None
    tags: tuple[str, ...] = ()
    parent_id: str | None = None
    terms: tuple[str, ...] = ()
    limit: Limit | None = None
    once: Once | None = None
    delivery: Once | None = None
    ended: Ended | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """What became of a start: an execution is running, or queued by its workflow's limit. A `duplicate`: it
    is another's, which had the key before, and this is how it was just now."""

    id: str
    status: ExecutionStatus
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class OwnedExecution:
    """An execution as its new owner finds it: its last checkpoint and its journal, without the items of lists
    (see `Executions.done_items`). `has_asides`: somewhere in it an `Aside` stands for a large value.
    `claimed_at` is by the database's clock. `is_untouched`: nobody can have begun what its state has as
    running. The checkpoint takes account of the journal up to `checkpoint_seq`; where this `is_light` it was
    not read, see `Executions.checkpoints`. What a cache knew beyond the database: rows that are still
    `unwritten`, and the signals that were `taken`, with their places."""

    id: str
    workflow_id: str
    version_id: int
    institute_id: str
    fence: int
    started_at: datetime
    status: ExecutionStatus
    context: JsonObject
    state: JsonObject
    takeovers: int
    journal: Sequence[JournalRow]
    signals: Sequence[Signal] = ()
    has_asides: bool = False
    parent_id: str | None = None
    depth: int = 0
    trigger_id: str | None = None
    claimed_at: datetime | None = None
    is_untouched: bool = False
    checkpoint_seq: int = 0
    is_light: bool = False
    unwritten: tuple[JournalRow, ...] = ()
    taken: tuple[tuple[int, int], ...] = ()
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """The part of an owned execution that may be large."""

    context: JsonObject
    state: JsonObject
    has_asides: bool

    def fill(self, owned: OwnedExecution) -> OwnedExecution:
        has_asides = self.has_asides or owned.has_asides
        return replace(owned, context=self.context, state=self.state, has_asides=has_asides, is_light=False)


class Progress(NamedTuple):
    """What an owner writes at once: journal rows, what waits open and no longer need, and perhaps where the
    execution now stands. The signals that the checkpoint has taken account of go with it; of those `taken`
    since the last one the places are noted, by their numbers. Who ends tells its parent, and, if it
    `is_limited`, who is queued behind it. One that `was_taken_over` has made progress with it: so it was not
    this one that brought its owners down."""

    execution_id: str
    fence: int
    rows: tuple[JournalRow, ...]
    checkpoint: Checkpoint | None = None
    signals: tuple[int, ...] = ()
    taken: tuple[tuple[int, int], ...] = ()
    opens: tuple[Opening, ...] = ()
    closes: Closing | None = None
    parent_id: str | None = None
    is_limited: bool = False
    was_taken_over: bool = False

    @property
    def ends(self) -> bool:
        return self.checkpoint is not None and self.checkpoint.is_final
