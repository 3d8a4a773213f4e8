"""What the server answers, as types. Fields that this version does not know are left out; what is a closed
set today is text here, since a newer server may say more."""

from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

M = TypeVar("M", bound="Shape")

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED"})


class Shape(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, frozen=True, extra="ignore"
    )


class Place(Shape):
    """One entry of `errors` or `warnings`."""

    pointer: str
    code: str
    message: str
    suggestion: str | None = None


class ExecutionError(Shape):
    type: str
    message: str
    node_id: str | None = None


class NotStarted(Shape):
    """Why one of several was not started."""

    code: str
    message: str
    errors: list[Place] = Field(default_factory=list)


class Started(Shape):
    """A start. `duplicate`: another had its key before, and `execution_id` is that one's. `output` and
    `error` are there if it was waited for and has ended."""

    execution_id: str
    status: str
    duplicate: bool = False
    output: Any = None
    error: ExecutionError | None = None

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class Fired(Shape):
    """What came of a trigger. `status` is `SKIPPED` if nothing was started, and `reason` says why; `refused`
    is there if this one of several could not be decided."""

    status: str = "REFUSED"
    execution_id: str | None = None
    reason: str | None = None
    idempotency_key: str | None = None
    trigger_id: str | None = None
    output: Any = None
    error: ExecutionError | None = None
    refused: NotStarted | None = None


class ExecutionRow(Shape):
    """An execution without its context."""

    id: str
    workflow_id: str
    key: str
    version: int
    status: str
    tracking_status: str
    trigger_id: str | None = None
    idempotency_key: str | None = None
    parent_execution_id: str | None = None
    current_node_id: str | None = None
    resume_at: datetime | None = None
    resumed_by: str | None = None
    error: ExecutionError | None = None
    tags: list[str] = Field(default_factory=list)
    started_at: datetime
    completed_at: datetime | None = None

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class Visit(Shape):
    """A visit of a node."""

    node_id: str
    type: str
    visit: int
    status: str
    attempt: int
    started_at: datetime
    completed_at: datetime | None = None
    output: Any = None
    error: Any = None
    warnings: list[str] = Field(default_factory=list)


class ParkedOn(Shape):
    """What an execution waits for."""

    id: str | None = None
    node_id: str
    kind: str
    correlation_id: str | None = None
    expires_at: datetime | None = None
    needed_events: list[str] | None = None
    received_events: list[str] | None = None


class Execution(ExecutionRow):
    context: Any = None
    output: Any = None
    nodes: list[Visit] = Field(default_factory=list)
    waits: list[ParkedOn] = Field(default_factory=list)
    pending: list[str] = Field(default_factory=list)


class Wait(Shape):
    """A visit of a node that waits, or has waited, for events."""

    id: str
    execution_id: str
    node_id: str
    correlation_id: str
    status: str
    enabled_events: list[str]
    needed_events: list[str]
    received_events: list[str]
    created_at: datetime
    expires_at: datetime


class Received(Shape):
    """What became of a callback. A `DUPLICATE` after a repeat of ours is the first one that arrived."""

    accepted: bool
    reason: str | None = None


class Published(Shape):
    """Where a message is on the bus."""

    topic: str
    partition: int
    offset: int


class Saved(Shape):
    """A version of a workflow that was saved."""

    id: str
    key: str
    version: int
    warnings: list[Place] = Field(default_factory=list)


class WorkflowRow(Shape):
    id: str
    key: str
    name: str
    status: str
    active_version: int | None = None
    latest_version: int
    created_at: datetime
    updated_at: datetime


class Workflow(WorkflowRow):
    """`version` is the number of the version that `definition` is: the newest."""

    version: int
    definition: dict[str, Any]


class Verdict(Shape):
    valid: bool
    errors: list[Place]
    warnings: list[Place]


class Schedule(Shape):
    id: str
    workflow_id: str
    schedule_type: str
    cron_expression: str | None = None
    interval_minutes: int | None = None
    timezone: str
    status: str
    next_run_at: datetime | None = None
    last_run_at: datetime | None = None
    last_error: str | None = None


class DeadLetter(Shape):
    """Something that could not be brought to its end; of an execution, `source` is its workflow's key and
    `key` its id."""

    id: int
    kind: str
    source: str
    key: str
    error_type: str
    error_message: str
    status: str
    created_at: datetime
    resolved_at: datetime | None = None


class Alert(Shape):
    id: int
    workflow_key: str
    node: str
    correlation_key: str
    severity: str
    reason: str
    state: str
    count: int
    first_triggered_at: datetime
    last_triggered_at: datetime
    acked_by: str | None = None
