"""What callers send and get about the orders in which a wait's events may come."""

from pydantic import Field, JsonValue

from muster.api.shapes import Request, Shape
from muster.engine.event_waits import Ending


class OrderTableBody(Request):
    """The config of a `wait_events` node, or where there is one."""

    config: dict[str, JsonValue] | None = Field(default=None, description="The node's config as it stands.")
    workflow_id: str | None = Field(
        default=None, max_length=255, description="Instead of `config`: a workflow's id or key."
    )
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="Without it, the one that runs, or the latest."
    )
    node_id: str | None = Field(default=None, max_length=255, description="The node of that workflow.")
    context: dict[str, JsonValue] = Field(
        default_factory=dict, description="What expressions in the config read."
    )
    received: dict[str, JsonValue] = Field(
        default_factory=dict, description="What events carry, by their names, for `completeWhen` to read."
    )


class OrderedEvent(Shape):
    name: str
    context_name: str = Field(description="The context name under which its data is kept.")
    required: bool


class OrderRow(Shape):
    """One order of arrivals, and what comes of it."""

    arrivals: list[str] = Field(description="What came, in this order.")
    unused: list[str] = Field(description="What had not come by then: it is late, should it still come.")
    timed_out: bool = Field(description="Whether the time was over; else it was complete.")
    after_seconds: float | None = Field(description="After how long its time was over.")
    outcome: Ending


class OrderTableAnswer(Shape):
    events: list[OrderedEvent]
    rows: list[OrderRow]
    depends_on_order: bool = Field(
        description="Whether it goes on with other events where all of them come in another order."
    )
    left_off: bool = Field(description="There are more orders than rows.")


BODIES = (OrderTableBody,)
