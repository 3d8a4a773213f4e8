"""What WhatsApp reports of the messages that were sent: signed, repeated, and in any order."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence

from muster.model.json import Json
from muster.nodes.ports import DeliveryReport, DeliveryStatus

SIGNATURE = "sha256="
STATUSES: Mapping[str, DeliveryStatus] = {
    "sent": DeliveryStatus.SENT,
    "delivered": DeliveryStatus.DELIVERED,
    "read": DeliveryStatus.READ,
    # A voice message that was listened to.
    "played": DeliveryStatus.READ,
    "failed": DeliveryStatus.FAILED,
}
LONGEST_ID = 255
LONGEST_ERROR = 1000


def is_signed(secret: str, body: bytes, signature: str) -> bool:
    """Whether the sender knows the app's secret."""
    made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"{SIGNATURE}{made}".encode(), signature.encode())


def read_reports(document: Json) -> list[DeliveryReport]:
    """The reports in a notification. What else it says, now or in later versions, is passed over."""
    return [
        report
        for entry in _list(document, "entry")
        for change in _list(entry, "changes")
        for status in _list(_get(change, "value"), "statuses")
        for report in _report(status)
    ]


def _report(status: Json) -> Iterator[DeliveryReport]:
    provider_id, said = _get(status, "id"), _get(status, "status")
    if not isinstance(provider_id, str) or not 0 < len(provider_id) <= LONGEST_ID:
        return
    if isinstance(said, str) and said in STATUSES:
        yield DeliveryReport(provider_id, STATUSES[said], _error(_list(status, "errors")))


def _error(errors: Sequence[Json]) -> str | None:
    if not errors:
        return None
    first = errors[0]
    details = _get(_get(first, "error_data"), "details")
    told = details or _get(first, "message") or _get(first, "title")
    return f"{told or 'not delivered'} ({_get(first, 'code')})"[:LONGEST_ERROR]


def _get(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _list(value: Json, name: str) -> list[Json]:
    found = _get(value, name)
    return found if isinstance(found, list) else []
