"""What the engine needs kept for it, and how it hears of its own work."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias

from muster.engine.event_waits import Plan, TopicFields, WaitKey
from muster.engine.outbox import OutgoingMessage
from muster.engine.state import FINAL, ExecutionStatus, Failure
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.model.once import Once

FIRST_FENCE = 1
# The `item_key` of the row that tells what became of undoing a visit.
COMPENSATION = "compensation"
# Of an answer: it only says that there is more time, and until when.
MORE_TIME = "moreTime"
# Of an item's error: it would come to the same again, so the policy does not try it again.
PERMANENT = "permanent"


class JournalRow(NamedTuple):
    """What became of one visit of a node, or of one item of it.

    `seq` orders an execution's rows as they were applied; `item_key` is '' for the visit itself. `changes`
    None: the output itself was merged into the context.
    """

    node: str
    visit: int
    item_key: str
    seq: int
    attempt: int
    status: NodeStatus
    started_at: datetime
    completed_at: datetime | None = None
    output: Json = None
    changes: JsonObject | None = None
    error: JsonObject | None = None
    due: datetime | None = None
    warnings: tuple[str, ...] = ()


class SignalKind(StrEnum):
    """What reaches an execution from outside: people's commands, and the answer that a visit waits for."""

    HOLD = "hold"
    RELEASE = "release"
    CANCEL = "cancel"
    ANSWER = "answer"
    DECIDE = "decide"


@dataclass(frozen=True, slots=True)
class Signal:
    """Kept until the execution's next checkpoint holds what it did, so none is lost with its owner.

    An answer names the `node` and `visit` that it is for, and the `correlation` of what it answers. `seq` is
    its place among the rows of the journal; None: nobody has taken it yet, or not written anything since.
    """

    id: int
    kind: SignalKind
    payload: JsonObject
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many executions with this key are under way at once; the others are queued."""

    key: str
    most: int


@dataclass(frozen=True, slots=True)
class ChildOpening:
    """An execution to be started by a visit, or by one item of it.

    `awaited`: it answers the visit when it has ended. Of a list's children, `at_once` are started at a time,
    in the order of their `place`s; one whose item is under way or done is not opened again, and after the
    first `attempt` neither is one whose item has failed for good.
    """

    id: str
    node: str
    visit: int
    workflow_id: str
    version_id: int
    institute_id: str
    depth: int
    context: JsonObject
    started_at: datetime
    awaited: bool = True
    limit: Limit | None = None
    item_key: str = ""
    place: int = 0
    at_once: int = 1
    stops: bool = False
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class ListOpening:
    """A list whose children are opened batch by batch: it is not over before it is `complete`, however soon
    the first of them end."""

    id: str
    node: str
    visit: int
    complete: bool


@dataclass(frozen=True, slots=True)
class ApprovalOpening:
    """A decision that people are asked for."""

    id: str
    node: str
    visit: int
    workflow_id: str
    institute_id: str
    assignees: tuple[str, ...]
    created_at: datetime
    title: str | None = None
    message: str | None = None
    form: JsonObject | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """A visit that is about to do what may be done only once under a key; its execution has this fence."""

    hash: str
    execution_id: str
    node: str
    visit: int
    fence: int


class Standing(StrEnum):
    """How a claim stands that nobody has done yet: it is whose who asked, or somebody else is at it."""

    MINE = "mine"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """What a claim is for was done before, and what it came to: None and nothing, once the execution that did
    it was removed."""

    execution_id: str
    output: Json
    changes: JsonObject


@dataclass(frozen=True, slots=True)
class NodeDone:
    """A visit has done what it had claimed. For so long that counts; None: for good."""

    node: str
    visit: int
    kept_for: timedelta | None


@dataclass(frozen=True, slots=True)
class NodeReleased:
    """A visit has failed to do what it had claimed: the next may."""

    node: str
    visit: int


@dataclass(frozen=True, slots=True)
class EventWaitOpening:
    """Events that a visit waits for. `topics` are where they come from, with the fields that their ids are
    in. What this visit has opened before, under another id, is replaced; under the same, it is left alone."""

    id: str
    node: str
    visit: int
    correlation_id: str
    workflow_id: str
    institute_id: str
    plan: Plan
    created_at: datetime
    topics: tuple[TopicFields, ...] = ()
    keys: tuple[WaitKey, ...] = ()


@dataclass(frozen=True, slots=True)
class EventWaitCalled:
    """What was answered to the call that a wait for events begins with."""

    id: str
    response: Json


@dataclass(frozen=True, slots=True)
class EventWaitDone:
    """The visit has gone on with what came."""

    id: str


Opening: TypeAlias = (
    ChildOpening
    | ListOpening
    | ApprovalOpening
    | NodeDone
    | NodeReleased
    | EventWaitOpening
    | EventWaitCalled
    | EventWaitDone
    | OutgoingMessage
)


@dataclass(frozen=True, slots=True)
class Closing:
    """Whatever these visits have opened is no longer wanted: nobody waits for it. `everything`: whatever any
    visit has opened, where nobody can say which are open. `at`: their time was over then."""

    visits: tuple[tuple[str, int], ...]
    reason: str
    compensate: bool = False
    everything: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class InVain:
    """An execution with this fence is about to give up children of lists whose turn has not come: those of
    visits that it closes; without any, those behind itself in a list that stops where an item fails."""

    execution_id: str
    fence: int
    closes: Closing | None


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
class NewExecution:
    """An execution about to be written, owned by who writes it; without an owner, due at once for anyone.
    Its `limit` may have it queued instead. `terms` are what it is found by, besides its tags. `once` is its
    key: if another has it, nothing is written. `delivery` is the key of the message that asks for it: if
    another came of that, nothing is written either."""

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


class Lost(Exception):
    """Somebody else owns the execution now: whoever is told so writes nothing more of it."""


class NotWritten(Exception):
    """The store was away, or lost its answer: perhaps written, perhaps not. Writing it again is safe."""


class Executions(Protocol):
    """Executions and their journal. Every write of an owner carries its fence. Whatever is asked raises
    `NotWritten` if the store is away."""

    async def start(self, new: NewExecution) -> Begun:
        """Durable when this returns: running and owned (or ready for anyone), or queued by its limit; or
        another has its key, and nothing was written. Raises `NotWritten`."""
        ...

    async def write(self, progress: Progress) -> None:
        """Durable when this returns. Raises `NotWritten`, or `Lost`: the fence has moved on."""
        ...

    async def claim_node(self, claim: NodeClaim) -> Standing | DoneBefore:
        """Claim what may be done only once, before it is done. It stays claimed until the visit is written as
        done or as failed, or its execution has ended. Raises `NotWritten`, or `Lost`: the fence has moved
        on, and nothing was claimed."""
        ...

    async def expire(self, execution_id: str, fence: int, closing: Closing) -> Sequence[Signal]:
        """Close what these visits have opened, because their time is over, and say what has reached the
        execution. What was answered before is among it; what was not can no longer be answered.
        Raises `NotWritten`, or `Lost`."""
        ...

    async def has_long_lists(self, ending: InVain) -> bool:
        """Whether more children have waited in vain than are ended in one transaction. Raises
        `NotWritten`."""
        ...

    async def give_up_held(self, ending: InVain) -> None:
        """End children that have waited in vain, so many at a time: what is left for the write that they are
        given up with is little. Raises `NotWritten`, or `Lost`."""
        ...

    async def signals(self, owner: str) -> Mapping[str, Sequence[Signal]]:
        """What has reached the executions that this owner holds, by their ids."""
        ...

    async def renew(self, owner: str, ids: Sequence[str]) -> Collection[str]:
        """Hold on to these for a further lease by the database's clock, and say which are this owner's still.

        Only what is driven: an execution that was claimed by a commit whose answer got lost is owned by
        somebody who does not know, and has to run out.
        """
        ...

    async def claim_due(self, owner: str, limit: int) -> Sequence[OwnedExecution]:
        """Take executions whose time has come and that nobody owns. They may be light."""
        ...

    async def claim_abandoned(self, owner: str, limit: int, takeovers: int) -> Sequence[OwnedExecution]:
        """Take executions whose owner's lease has run out, and that were taken over so often before without
        having made progress since."""
        ...

    async def checkpoints(self, ids: Collection[str]) -> Mapping[str, "StoredCheckpoint"]:
        """Contexts and states of executions that this owner has claimed. Raises `NotWritten`."""
        ...

    async def longest_suspected(self) -> int | None:
        """Of those whose owner's lease has run out, and that were taken over before without having made
        progress since: how often the one was that has been waiting for longest."""
        ...

    async def end_leases(self, owner: str, prefix: str) -> None:
        """This owner has started: let the leases of others be over whose names begin so, since they are its
        earlier incarnations."""
        ...

    async def starts_since_takeover(self, execution_id: str) -> int:
        """How many owners have started since this was taken over for the first time without having made
        progress since."""
        ...

    async def release(self, owner: str) -> int:
        """Let go of all that this owner holds, under new fences: it writes nothing more, and whoever looks
        next takes them. Says how many there were."""
        ...

    async def put_off(self, taken: Sequence[OwnedExecution], pause: timedelta, uncount: bool) -> None:
        """Let go of what was just claimed and not begun: it is due again after a pause. `uncount`: that it
        was claimed counted as a takeover, and no longer does. What another has claimed is left alone; what
        was untouched still is."""
        ...

    async def admit_queued(self, limit: int) -> int:
        """Look again at the limits that executions are queued at: what they have room for becomes due. How
        many these were; 0: there is no room that anybody waits for."""
        ...

    async def next_due(self) -> timedelta | None:
        """How long it takes, by the database's clock, until the next execution comes due that nobody owns;
        nothing, or less, for one that is due. None: there is none."""
        ...

    async def next_lease_end(self) -> timedelta | None:
        """How long it takes, by the database's clock, until the next lease of any owner runs out; nothing, or
        less, for one that has. None: nobody holds anything."""
        ...

    async def large_values(self, execution_id: str, digests: Collection[str]) -> Mapping[str, Json]:
        """Values that are kept beside the execution, by their digests. Raises `NotWritten`."""
        ...

    async def done_items(self, execution_id: str, node: str, visit: int) -> Set[str]:
        """The keys of the items of a visit that are journaled as done. Raises `NotWritten`."""
        ...

    async def failed_items(self, execution_id: str, node: str, visit: int) -> Mapping[str, JsonObject]:
        """The errors of the items of a visit that have failed for good, by their keys. Raises
        `NotWritten`."""
        ...

    async def item_outputs(
        self, execution_id: str, node: str, visit: int, keys: Sequence[str]
    ) -> Mapping[str, Json]:
        """What these items came to, as far as they are done; an `Aside` stands for what is large. Raises
        `NotWritten`."""
        ...
