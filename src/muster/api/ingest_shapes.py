"""What callers send and get about events."""

from pydantic import Field

from muster.api.shapes import Known, Request, Shape


class EventBody(Request):
    """An event that another system tells of."""

    event_type: str = Field(description="What happened; its node in a watched workflow has the same.")
    event_time: str = Field(description="When, as ISO 8601 with an offset.")
    correlation_key: str = Field(description="Whose run it belongs to: an order's number, say.")
    event_id: str | None = Field(
        default=None,
        description="What tells it from all others of its source; else `Idempotency-Key`, else a new one.",
    )
    source_system: str | None = Field(default=None, description="Who tells of it.")
    workflow_key: str | None = Field(default=None, description="The watched workflow that it concerns.")
    workflow_keys: list[str] | None = Field(default=None, description="Several of them.")
    group: dict[str, Known] | None = Field(default=None, description="What runs are counted by.")
    payload: dict[str, Known] | None = None


class TakenEvent(Shape):
    """It is durable, with all that follows from it. `duplicate`: it was there already."""

    event_id: str
    duplicate: bool


class EventAnswer(Shape):
    """One of `results`: what a single event is answered, or why it was not taken."""

    event_id: str | None = None
    duplicate: bool | None = None
    error: dict[str, Known] | None = Field(default=None, description="`code`, `detail` and `errors[]`.")


class TakenEvents(Shape):
    """One event: its id, and whether it was there already. A list: `results`, in the same order."""

    event_id: str | None = None
    duplicate: bool | None = None
    results: list[EventAnswer] | None = None


BODIES = (EventBody,)
