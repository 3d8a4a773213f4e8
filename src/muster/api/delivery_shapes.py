"""What callers get about deliveries."""

from datetime import datetime

from pydantic import Field

from muster.api.shapes import Shape


class DeliveryItem(Shape):
    """A message to somebody, and what became of it."""

    id: int
    execution_id: str
    node_id: str
    item_key: str
    institute_id: str
    channel: str
    recipient: str
    subject: str | None
    body: str | None
    status: str = Field(description="`captured`, `sent`, `failed`, `delivered` or `read`.")
    provider_id: str | None
    error: str | None
    created_at: datetime
    sent_at: datetime | None


class DeliveryPage(Shape):
    items: list[DeliveryItem]
    next_cursor: str | None


class ReportsTaken(Shape):
    """How many reports changed something, how many said what was known, and how many were of messages that
    are not known here."""

    changed: int
    unchanged: int
    unknown: int
