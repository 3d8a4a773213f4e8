"""What callers send and get about waits for events."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.execution_shapes import REASON
from muster.api.shapes import Request, Shape
from muster.engine.event_waits import NearMiss, Refusal, WaitStatus


class CallbackAnswer(Shape):
    accepted: bool
    reason: Refusal | None = Field(default=None, description="Why it was not accepted.")


class EventWaitItem(Shape):
    """A visit of a node that waits, or has waited, for events."""

    id: str
    execution_id: str
    node_id: str
    visit: int
    correlation_id: str
    workflow_id: str
    institute_id: str
    aggregation_strategy: str
    on_timeout: str
    status: WaitStatus
    enabled_events: list[str]
    required_events: list[str]
    needed_events: list[str] = Field(description="What it still needs.")
    received_events: list[str]
    received: JsonValue = Field(description="Of each event that came: when, from where, how often again.")
    near_misses: int = Field(description="How many events came that were not accepted.")
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    seconds_left: float | None = Field(description="Until its deadline, while it waits.")
    resumed_at: datetime | None
    resumed_by: str | None


class NearMissItem(Shape):
    """An event that was not accepted."""

    id: int
    source: str
    topic: str | None
    execution_id: str
    correlation_id: str
    reason: NearMiss
    event: str | None = Field(description="The event that it would have been.")
    payload: JsonValue
    received_at: datetime
    wait_id: str | None = Field(description="The wait that it came closest to.")
    applied_to: str | None
    applied_by: str | None
    institute_id: str


class EventWaitWhole(EventWaitItem):
    """A wait, and why it still waits."""

    explanation: str
    missed: list[NearMissItem] = Field(description="The last events that came close.")


class EventWaitPage(Shape):
    items: list[EventWaitItem]
    next_cursor: str | None


class NearMissPage(Shape):
    items: list[NearMissItem]
    next_cursor: str | None


class Apply(Request):
    wait_id: str | None = Field(default=None, description="Else the wait that it came closest to.")
    event: str | None = Field(default=None, description="The event that it is taken as; else as it seems.")
    reason: str = REASON


class Rearm(Request):
    timeout: int | str = Field(default=300, description="For how long from now: `1h`, `PT1H`, or seconds.")
    reason: str = REASON
