"""What is written of an execution beside its checkpoints: what became of visits, and what reached it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject

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
