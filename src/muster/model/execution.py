"""An execution as it is read back: by people, by programs, by whoever tries it again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.model.json import Json, JsonObject


class NodeStatus(StrEnum):
    """How a visit of a node is, or an item of it."""

    RUNNING = "running"
    WAITING_FOR_EVENTS = "waiting_for_events"
    WAITING_FOR_REPLY = "waiting_for_reply"
    WAITING_FOR_TASK = "waiting_for_task"
    PAUSED = "paused"
    RETRYING = "retrying"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    # Of what was under way when its execution ended; the journal has it as it stood.
    CANCELLED = "cancelled"


WAITS = frozenset({NodeStatus.WAITING_FOR_EVENTS, NodeStatus.WAITING_FOR_REPLY, NodeStatus.WAITING_FOR_TASK})


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One line of a list of executions."""

    id: str
    workflow_id: str
    key: str
    version: int
    version_id: int
    institute_id: str
    status: str
    trigger_id: str | None
    idempotency_key: str | None
    parent_id: str | None
    current_node_id: str | None
    resume_at: datetime | None
    resumed_by: str | None
    error_type: str | None
    error_message: str | None
    tags: tuple[str, ...]
    started_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class NodeRow:
    """What became of one visit of a node, or of one item of it. `seq` orders visits as they settled; 0: it is
    an item's, or it has not settled. `changes` None: its output itself was merged into the context."""

    node_id: str
    visit: int
    item_key: str
    seq: int
    status: NodeStatus
    attempt: int
    output: Json
    error: JsonObject | None
    warnings: tuple[str, ...]
    due_at: datetime | None
    started_at: datetime
    completed_at: datetime | None
    changes: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ExecutionDetail:
    """Everything about one execution. `given` is the context that it was started with; `state` and `fence`
    are for trying it again. `undone` are the visits that were compensated; `asked` is what people have asked
    of it and nobody has taken account of yet, as kinds of signals; `trace` is the `traceparent` that it was
    started with."""

    row: ExecutionRow
    given: JsonObject
    context: JsonObject
    output: Json
    state: JsonObject
    fence: int
    nodes: Sequence[NodeRow]
    more_nodes: bool = False
    undone: frozenset[tuple[str, int]] = frozenset()
    asked: tuple[str, ...] = ()
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class WantedNodes:
    """Which rows of a journal a list is to show. None: whichever. `items` True: only items of lists; False:
    only visits."""

    node: str | None = None
    visit: int | None = None
    status: str | None = None
    items: bool | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which executions a list is to show. None: whichever. `text` is how a value that they are found by, or
    a word in it, begins."""

    status: str | None = None
    workflow: str | None = None
    trigger: str | None = None
    idempotency_key: str | None = None
    started_from: datetime | None = None
    started_to: datetime | None = None
    tag: str | None = None
    text: str | None = None
