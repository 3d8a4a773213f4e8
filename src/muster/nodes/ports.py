"""What nodes that reach outside need of it: HTTP, mail, WhatsApp, and a record of what was sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.model.stored import NodeTemplate


class Channel(StrEnum):
    EMAIL = "email"
    WHATSAPP = "whatsapp"


class DeliveryStatus(StrEnum):
    """`captured`: no provider is configured, so the message was kept here and went nowhere. `delivered` and
    `read` are what a provider reports later."""

    CAPTURED = "captured"
    SENT = "sent"
    FAILED = "failed"
    DELIVERED = "delivered"
    READ = "read"


# What a report may still change: one that comes late or twice changes nothing. A message that arrived has
# arrived, whatever is said of it later.
BEFORE: Mapping[DeliveryStatus, tuple[DeliveryStatus, ...]] = {
    DeliveryStatus.SENT: (),
    DeliveryStatus.FAILED: (DeliveryStatus.SENT,),
    DeliveryStatus.DELIVERED: (DeliveryStatus.SENT, DeliveryStatus.FAILED),
    DeliveryStatus.READ: (DeliveryStatus.SENT, DeliveryStatus.FAILED, DeliveryStatus.DELIVERED),
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to somebody. `key` names the effect: a repeat of it is the same delivery."""

    key: str
    execution_id: str
    node_id: str
    item_key: str
    institute_id: str
    channel: Channel
    recipient: str
    subject: str | None
    body: str | None
    status: DeliveryStatus
    created_at: datetime
    provider_id: str | None = None
    error: str | None = None
    sent_at: datetime | None = None
    # Its number where it is kept.
    id: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """What a provider says has become of a message that it took."""

    provider_id: str
    status: DeliveryStatus
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a provider's reports: messages that changed, that did not, and that are not known."""

    changed: int
    unchanged: int
    unknown: int


class Deliveries(Protocol):
    async def record(self, delivery: Delivery) -> None:
        """Keep what became of a message. Durable when this returns; while the store is away, it waits.

        A repeat under the same key changes the earlier record, but none that says `sent` to `failed`.
        """
        ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`seconds` is for the whole of it, redirects included."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer of whatever status. Header names are in lower case; `host` is who answered in the end."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes
    host: str

    def header(self, name: str) -> str | None:
        """The header's values, joined by commas; None if there is none."""
        found = [value for key, value in self.headers if key == name]
        return ", ".join(found) if found else None


class Http(Protocol):
    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        """Make a request. What comes of trouble on the way is a failure that names the host, nothing more."""
        ...


@dataclass(frozen=True, slots=True)
class Attachment:
    filename: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """A message as its author wants it. Addresses may carry a name: `Ada <ada@example.com>`."""

    key: str
    at: datetime
    to: tuple[str, ...]
    subject: str = ""
    text: str | None = None
    html: str | None = None
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    sender: str | None = None
    reply_to: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """A provider took it. `refused` are recipients that it would not take, each with its words."""

    provider_id: str
    captured: bool = False
    refused: tuple[tuple[str, str], ...] = ()


class MessageTemplates(Protocol):
    """Stored messages: node templates of the type that sends them."""

    async def find(self, institute_id: str, template_ids: Sequence[str]) -> dict[str, NodeTemplate]: ...


class Mailer(Protocol):
    async def send(self, mail: Mail) -> Sent | Failure: ...


@dataclass(frozen=True, slots=True)
class WhatsAppMessage:
    """A text or a template: `content` is the part of the Cloud API's body under the name of its type."""

    to: str
    type: str
    content: JsonObject
    key: str


class WhatsApp(Protocol):
    async def send(self, message: WhatsAppMessage) -> Sent | Failure: ...
