"""Messages as triggers see them."""

from datetime import UTC, datetime

from muster.engine.bus import Message
from muster.engine.message_triggers import event_of
from muster.kit.clock import SystemClock

AT = datetime(2026, 3, 4, tzinfo=UTC)


def test_what_is_no_text_is_told_in_hexadecimal_and_no_two_become_the_same() -> None:
    one, paid = (1).to_bytes(8, "big"), "bezahlt für".encode()
    headers = (("X-Event-Type", paid), ("X-Event-Id", b"\xfe\xff"), ("x-order-topic", b"a\0"))
    event = event_of(Message("orders", 0, 0, one, b"{}", headers, AT), {}, SystemClock())
    assert (event.name, event.id) == ("bezahlt für", "feff")
    assert event.payload["key"] == "0000000000000001"
    assert event.payload["headers"] == {
        "x-event-type": "bezahlt für",
        "x-event-id": "feff",
        "x-order-topic": "6100",
    }
