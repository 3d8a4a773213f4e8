"""What callers send and get about idempotency settings."""

from pydantic import Field, JsonValue

from muster.api.moments import ZonelessMoment
from muster.api.shapes import Request, Shape, is_none

MOST_EVENTS = 1000


class SampleEvent(Request):
    """An event as it might come."""

    context: dict[str, JsonValue] = Field(default_factory=dict)
    event_type: str | None = None
    event_id: str | None = None
    at: ZonelessMoment | None = Field(
        default=None, description="When it comes, in UTC unless it says otherwise; without it, now."
    )


class IdempotencyPreview(Request):
    """A setting to try, and the events to try it on, in the order in which they come."""

    setting: dict[str, JsonValue]
    trigger_id: str = Field(default="{triggerId}", max_length=255)
    events: list[SampleEvent] = Field(min_length=1, max_length=MOST_EVENTS)


class PreviewedEvent(Shape):
    """What would become of one event."""

    key: str | None
    status: str = Field(examples=["RUN", "SKIPPED", "REFUSED"])
    reason: str | None = Field(
        default=None, exclude_if=is_none, examples=["DUPLICATE", "EXPRESSION_ERROR", "MISSING_FIELD"]
    )
    duplicate_of: int | None = Field(
        default=None, exclude_if=is_none, description="The place of the event with the same key, from 0."
    )
    field: str | None = Field(default=None, exclude_if=is_none, description="What is missing.")
    message: str | None = Field(default=None, exclude_if=is_none)


class IdempotencyPreviewed(Shape):
    results: list[PreviewedEvent]


BODIES = (IdempotencyPreview,)
