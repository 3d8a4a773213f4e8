"""What callers send and get about triggers."""

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue, RootModel

from muster.api.execution_shapes import ExecutionError, Rejected
from muster.api.shapes import Context, Known, ProblemEntry, Request, Shape, is_none

NAME_LENGTH = 255


class TriggerBody(Request):
    """What starts a workflow. It is addressed by its id, and by its path, event name or topic."""

    workflow_id: str | None = Field(
        default=None, description="The workflow's id, or its key. Needed to make one; fixed from then on."
    )
    type: Literal["webhook", "event", "alert"] = "webhook"
    trigger_event_name: str | None = Field(
        default=None, min_length=1, max_length=NAME_LENGTH, examples=["LEARNER_BATCH_ENROLLMENT"]
    )
    topic: str | None = Field(default=None, min_length=1, max_length=249)
    path: str | None = Field(default=None, min_length=1, max_length=NAME_LENGTH, examples=["orders/paid"])
    filter: dict[str, JsonValue] | None = Field(
        default=None, description="Fields, or nested paths, that an event must have with these values."
    )
    condition: str | None = Field(default=None, min_length=1, max_length=65_536)
    authentication: Literal["NONE", "HMAC", "JWT"] = Field(
        default="JWT",
        description="HMAC: signed after the Standard Webhooks convention. NONE: anybody may call it.",
    )
    idempotency_generation_setting: dict[str, JsonValue] | None = None
    status: Literal["ACTIVE", "INACTIVE"] = "ACTIVE"


class TriggerRow(Shape):
    id: str
    workflow_id: str
    type: str
    trigger_event_name: str | None
    topic: str | None
    path: str | None
    filter: JsonValue
    condition: str | None
    authentication: str
    idempotency_generation_setting: JsonValue
    status: str
    node_id: str | None = Field(
        description="The node of the definition that it is; null: it was made through the API."
    )
    secrets: list[datetime] = Field(description="When each secret that is valid was made, newest first.")
    version: int
    institute_id: str
    created_at: datetime
    updated_at: datetime


class TriggerSaved(TriggerRow):
    secret: str | None = Field(
        default=None, exclude_if=is_none, description="The secret to sign with: shown now and never again."
    )
    warnings: list[ProblemEntry]


class TriggerPage(Shape):
    items: list[TriggerRow]
    next_cursor: str | None


class Fire(Request):
    """Which trigger, or which event, and with what."""

    trigger_id: str | None = None
    event_name: str | None = Field(default=None, min_length=1, max_length=NAME_LENGTH)
    event_id: str | None = Field(default=None, min_length=1, max_length=1_000)
    context: Context = Field(default_factory=dict)


TRIGGER = Field(default=None, exclude_if=is_none, description="In `results`: which trigger's this is.")


class Fired(Shape):
    """An execution was started."""

    trigger_id: str | None = TRIGGER

    execution_id: str
    status: str = Field(examples=["PROCESSING"])
    idempotency_key: str | None


class FiredAndEnded(Fired):
    """The answer to `?wait=` once the execution has ended."""

    output: Known
    error: ExecutionError | None


class Skipped(Shape):
    """Nothing was started."""

    trigger_id: str | None = TRIGGER

    status: Literal["SKIPPED"]
    reason: Literal["DUPLICATE", "CONDITION_FALSE", "EXPRESSION_ERROR"]
    execution_id: str | None = Field(
        default=None, exclude_if=is_none, description="Of a duplicate: the first one's."
    )


class NotFired(Rejected):
    trigger_id: str


class FiredSeveral(Shape):
    """Of an event that several triggers have: what came of each, on its own."""

    results: list[FiredAndEnded | Fired | Skipped | NotFired]


class FiredOneOrSeveral(RootModel[Fired | FiredSeveral]):
    """Of one trigger, or of several."""


class SkippedOrEnded(RootModel[Skipped | FiredAndEnded | FiredSeveral]):
    """Nothing was started; or, with `?wait=`, it has ended."""
