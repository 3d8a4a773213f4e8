"""What callers send and get about bulk jobs."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from muster.api.execution_shapes import REASON, TAG_LENGTH
from muster.api.moments import Moment
from muster.api.shapes import Request, Shape
from muster.engine.bulk import ItemStatus, JobAction, JobStatus, JobTarget
from muster.engine.letters import LetterKind, LetterStatus
from muster.engine.state import ExecutionStatus

MOST_NAMED = 10_000


class OnExecutions(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    REPLAY = "replay"
    DISMISS = "dismiss"


class OnLetters(StrEnum):
    REDRIVE = "redrive"
    DISMISS = "dismiss"


class BulkOptions(Request):
    """How it is done."""

    compensate: bool = Field(default=False, description="For `cancel`: undo what was done.")
    from_: str | None = Field(
        default=None, alias="from", description="For `retry` and `redrive`: the node to go on from."
    )
    context: dict[str, JsonValue] | None = Field(
        default=None, description="For `retry` and `redrive`: changes to the context."
    )
    version: int | None = Field(
        default=None, ge=1, le=2_147_483_647, description="For `retry` and `redrive`: another version."
    )


class ExecutionFilter(Request):
    """The same as the list's parameters."""

    status: ExecutionStatus | None = Field(default=None, strict=False)
    workflow: str | None = Field(default=None, description="A workflow's id or key.")
    trigger: str | None = None
    idempotency_key: str | None = None
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None
    tag: str | None = Field(default=None, max_length=TAG_LENGTH)
    q: str | None = Field(default=None, max_length=200, pattern=r"\S")


class LetterFilter(Request):
    """The same as the list's parameters."""

    kind: LetterKind | None = Field(default=None, strict=False)
    status: LetterStatus | None = Field(default=None, strict=False)
    source: str | None = None
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None


class BulkOnExecutions(Request):
    """What to do, to which: those that `filter` finds now, or those that `ids` names."""

    action: OnExecutions = Field(strict=False)
    filter: ExecutionFilter | None = None
    ids: list[str] | None = Field(default=None, min_length=1, max_length=MOST_NAMED)
    reason: str = REASON
    options: BulkOptions = Field(default_factory=BulkOptions)


class BulkOnLetters(Request):
    """What to do, to which: those that `filter` finds now, or those that `ids` names."""

    action: OnLetters = Field(strict=False)
    filter: LetterFilter | None = None
    ids: list[int] | None = Field(default=None, min_length=1, max_length=MOST_NAMED)
    reason: str = REASON
    options: BulkOptions = Field(default_factory=BulkOptions)


class JobAccepted(Shape):
    job_id: str
    total: int


class JobWhole(Shape):
    """A bulk job and how far it is."""

    id: str
    target: JobTarget
    action: JobAction
    filter: JsonValue = Field(description="What told its items from others; null: they were named.")
    options: JsonValue
    reason: str
    actor: str
    status: JobStatus
    total: int
    pending: int
    done: int
    refused: int
    cancelled: int
    created_at: datetime
    completed_at: datetime | None


class JobPage(Shape):
    items: list[JobWhole]
    next_cursor: str | None


class JobItemRow(Shape):
    item_id: str
    status: ItemStatus
    reason: str | None = Field(description="Why it was refused.")
    result: JsonValue = Field(description="Of a replay, the new execution's id.")
    completed_at: datetime | None


class JobItemPage(Shape):
    items: list[JobItemRow]
    next_cursor: str | None


BODIES = (BulkOnExecutions, BulkOnLetters)
