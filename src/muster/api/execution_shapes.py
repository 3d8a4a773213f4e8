"""What callers send and get about executions."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, RootModel

from muster.api.shapes import Context, Known, ProblemEntry, Request, Shape, is_none

REASON = Field(default="", max_length=2000, description="Why; it is kept in the audit log.")


TAG_LENGTH = 100
KEY_LENGTH = 255
Tag = Annotated[str, Field(min_length=1, max_length=TAG_LENGTH)]


class Execute(Request):
    """Which workflow to start, and with what."""

    workflow_id: str | None = Field(default=None, description="The workflow's id, or its key.")
    key: str | None = Field(default=None, description="The workflow's key.")
    version: int | None = Field(default=None, ge=1, le=2_147_483_647)
    context: Context = Field(default_factory=dict)
    tags: list[Tag] = Field(default_factory=list, max_length=50)
    idempotency_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=KEY_LENGTH,
        description="Of all starts of the workflow with this key one begins; also a header.",
    )


class Reason(Request):
    reason: str = REASON


class Resume(Request):
    """Nothing but a reason: let it go on after a pause. With a node: say what is to become of one that is in
    doubt (`inDoubt: ask`)."""

    reason: str = REASON
    node: str | None = Field(default=None, description="The node that is in doubt.")
    visit: int | None = Field(default=None, ge=1, description="Which visit, if several are in doubt.")
    outcome: Literal["redo", "done"] | None = Field(
        default=None, description="Do it again, or take it as done."
    )
    output: JsonValue = Field(
        default=None, description="For `done`: what it came to. An object is merged into the context."
    )


class Cancel(Request):
    reason: str = REASON
    compensate: bool = Field(default=False, description="Undo what was done, where nodes say how.")


class Retry(Request):
    reason: str = REASON
    from_: str | None = Field(
        default=None, alias="from", description="The node to go on from; else where it failed."
    )
    node: str | None = Field(default=None, description="The same as `from`, as it was called before.")
    context: dict[str, JsonValue] | None = Field(default=None, description="Changes to the context.")
    version: int | None = Field(default=None, ge=1, le=2_147_483_647)


class Started(Shape):
    execution_id: str
    status: str


class ExecutionError(Shape):
    type: str
    message: str
    node_id: str | None


class Ended(Started):
    """The answer to `?wait=`: the result, or how far it is when the time is over."""

    output: Known
    error: ExecutionError | None


class Duplicate(Shape):
    """Nothing was started: another start had the key before."""

    execution_id: str = Field(description="The first one's.")
    status: Literal["SKIPPED"] = "SKIPPED"
    reason: Literal["DUPLICATE"] = "DUPLICATE"
    result: Ended | None = Field(
        default=None, exclude_if=is_none, description="With `?wait=`: how the first one is by now."
    )


class EndedOrDuplicate(RootModel[Ended | Duplicate]):
    """The result; or nothing was started."""


class NotStarted(Shape):
    """Why one of several was not started."""

    code: str = Field(examples=["NOT_FOUND"])
    message: str
    errors: list[ProblemEntry] = Field(description="What is wrong with it, each in its place.")


class Rejected(Shape):
    error: NotStarted


class BatchStarted(Shape):
    """What came of each, in the order in which they were sent."""

    results: list[Started | Duplicate | Rejected]


class ExecutionItem(Shape):
    id: str
    workflow_id: str
    key: str
    version: int
    status: str
    tracking_status: str
    trigger_id: str | None
    idempotency_key: str | None
    parent_execution_id: str | None
    current_node_id: str | None
    resume_at: datetime | None
    resumed_by: str | None
    error: ExecutionError | None
    tags: list[str]
    institute_id: str
    started_at: datetime
    completed_at: datetime | None


class ExecutionPage(Shape):
    items: list[ExecutionItem]
    next_cursor: str | None


class NodeEvent(Shape):
    """How a visit of a node is."""

    node_id: str
    type: str
    visit: int
    item_key: str
    status: str
    attempt: int
    started_at: datetime
    completed_at: datetime | None
    due_at: datetime | None
    error: JsonValue
    warnings: list[str]


class NodeItem(NodeEvent):
    output: JsonValue
    changes: JsonValue = Field(
        description="What it changed in the context when it was completed; null: its output itself."
    )


class NodePage(Shape):
    items: list[NodeItem]
    next_cursor: str | None


class WaitItem(Shape):
    """What an execution is parked on. `id` is that of the approval, of the task, of the child execution,
    or of the wait for events; of a doubt, the key of the effect. What is said of events is null for
    others."""

    id: str | None
    node_id: str
    kind: str
    correlation_id: str | None
    expires_at: datetime | None
    aggregation_strategy: str | None = None
    enabled_events: list[str] | None = None
    needed_events: list[str] | None = None
    received_events: list[str] | None = None
    received: JsonValue = Field(default=None, description="Of each event: when, and from where, it came.")
    seconds_left: float | None = None
    near_misses: int | None = None
    explanation: str | None = Field(default=None, description="Why it waits, in words.")


class ExecutionWhole(ExecutionItem):
    trace_id: str = Field(description="The trace that its spans belong to.")
    given: JsonValue = Field(description="The context that it was started with.")
    context: JsonValue
    output: JsonValue
    nodes: list[NodeItem]
    more_nodes: bool = Field(description="There are further visits: `/nodes` pages them all.")
    waits: list[WaitItem]
    held: bool = Field(description="It was paused by hand: only `resume` continues it.")
    pending: list[str] = Field(
        description="What was asked of it by hand (`pause`, `resume`, `cancel`) and has not taken effect yet."
    )
