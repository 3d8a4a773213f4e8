"""What callers get about the outbox."""

from base64 import b64encode
from datetime import datetime

from pydantic import Field

from muster.api.shapes import Shape
from muster.engine.outbox import OutboxEntry
from muster.model.text import is_suitable


class OutboxItem(Shape):
    """A message on its way to the bus. What it says is not shown."""

    id: int
    message_id: str
    institute_id: str
    stream: str
    seq: int | None = Field(description="Its place in the stream; on the embedded bus it has none.")
    topic: str
    key: str | None = Field(description="Where it is no text, in Base64.")
    reference: str | None = Field(description="By what its sender is told what became of it.")
    size: int = Field(description="Bytes of its value.")
    status: str = Field(description="`pending`, `published` or `refused`.")
    created_at: datetime
    published_at: datetime | None = Field(description="When it was published, or refused.")
    error: str | None = Field(description="Why the bus does not take it.")


class OutboxPage(Shape):
    items: list[OutboxItem]
    next_cursor: str | None


class OutboxStreamItem(Shape):
    """How a stream of the outbox stands."""

    stream: str
    pending: int = Field(description="Messages that wait to be published.")
    oldest: datetime | None = Field(description="Since when the first of them has waited.")
    published_seq: int = Field(description="All up to this place is known to be published, on Kafka.")
    owner: str | None = Field(description="Who publishes it, on Kafka.")
    problem: str | None = Field(description="Why nobody publishes it: a person has to look.")


class OutboxStreams(Shape):
    items: list[OutboxStreamItem]


def outbox_item(entry: OutboxEntry) -> OutboxItem:
    return OutboxItem(
        id=entry.id,
        message_id=entry.message_id,
        institute_id=entry.institute_id,
        stream=entry.stream,
        seq=entry.seq,
        topic=entry.topic,
        key=None if entry.key is None else _readable(entry.key),
        reference=entry.reference,
        size=entry.size,
        status=entry.status,
        created_at=entry.created_at,
        published_at=entry.published_at,
        error=entry.error,
    )


def _readable(key: bytes) -> str:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return b64encode(key).decode()
    return text if is_suitable(text) else b64encode(key).decode()
