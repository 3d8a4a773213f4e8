"""What a message is to triggers: whom it is offered to, and by which name, id and key."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from clocks import NOON, FakeClock
from muster.engine.bus import Batch, Message, Rejected
from muster.engine.message_triggers import MessageTriggers, event_of, read_message
from muster.engine.triggering import DELIVERIES_KEPT, Startable, Triggering, delivery_of
from muster.model.trigger import TriggerSettings, TriggerType

NEVER = "#{false}"


class Shelf:
    """The triggers that there are."""

    def __init__(self, *there: Startable) -> None:
        self._there = there

    async def by_id(self, trigger_id: str) -> Startable | None:
        raise AssertionError("no message names a trigger")

    async def by_path(self, path: str) -> Startable | None:
        raise AssertionError("no message has a path")

    async def by_event(self, institute_id: str | None, name: str) -> Sequence[Startable]:
        return [each for each in self._there if each.settings.event_name == name]

    async def by_topic(self, topic: str) -> Sequence[Startable]:
        return [each for each in self._there if each.settings.topic == topic]


def trigger(type: TriggerType = TriggerType.EVENT, **settings: Any) -> Startable:
    """One that looks at what it is offered, and wants none of it."""
    return Startable("t1", "w1", 1, "", TriggerSettings(type, condition=NEVER, **settings))


def message(value: bytes | None, topic: str = "orders", **headers: str) -> Message:
    given = tuple((name.replace("_", "-"), text.encode()) for name, text in headers.items())
    return Message(topic, 1, 7, None, value, given, NOON)


def offered(sent: Message, *there: Startable) -> tuple[Sequence[Rejected], list[str]]:
    """What is rejected, and what came of each trigger that the message was offered to."""
    told: list[str] = []
    shelf = Shelf(*there)
    triggering = Triggering(shelf, None, told.append)  # type: ignore[arg-type]  # nothing is started
    handle = MessageTriggers(shelf, triggering, FakeClock())
    return asyncio.run(handle(Batch([sent]))), told


def test_what_cannot_be_read_is_a_dead_letter_where_a_trigger_expects_it() -> None:
    rejected, told = offered(message(b"{half"), trigger(topic="orders"))
    assert [(each.message.topic, each.type) for each in rejected] == [("orders", "UNPARSABLE")]
    assert told == []


def test_what_others_put_on_their_topics_need_not_be_json() -> None:
    assert offered(message(b"\x00avro"), trigger(topic="another"), trigger(event_name="PAID")) == ([], [])


def test_a_message_without_a_value_is_offered_to_nobody() -> None:
    assert offered(message(None), trigger(topic="orders")) == ([], [])


@pytest.mark.parametrize(
    ("sent", "count"),
    [
        (message(b'{"eventName": "PAID"}'), 1),
        (message(b'{"eventType": "PAID"}'), 1),
        (message(b'{"eventName": "PAID", "eventType": "SENT"}'), 1),
        (message(b'{"eventName": "SENT", "eventType": "PAID"}'), 0),
        (message(b'{"eventName": 5, "eventType": "PAID"}'), 1),
        (message(b'{"eventName": "SENT"}', X_Event_Name="PAID"), 1),
        (message(b'{"eventName": "PAID"}', X_Event_Name="SENT"), 0),
        (message(b"{}", x_event_type="PAID"), 1),
        (Message("orders", 0, 0, None, b"[]", (("ce_type", b"PAID"),), NOON), 1),
        (message(b'"PAID"'), 0),
    ],
)
def test_an_event_is_named_in_a_header_or_else_in_the_value(sent: Message, count: int) -> None:
    assert offered(sent, trigger(event_name="PAID")) == ([], ["condition_false"] * count)


@pytest.mark.parametrize("type_", [TriggerType.WEBHOOK, TriggerType.ALERT])
def test_no_message_starts_what_only_requests_or_alerts_start(type_: TriggerType) -> None:
    assert offered(message(b'{"eventName": "PAID"}'), trigger(type_, event_name="PAID")) == ([], [])


@pytest.mark.parametrize(
    ("sent", "id"),
    [
        (message(b'{"eventId": "b"}', X_Event_Id="h"), "h"),
        (message(b'{"eventId": "b"}'), "b"),
        (message(b'{"eventId": 12}'), "12"),
        (message(b'{"eventId": true}'), "true"),
        (message(b'{"eventId": null}'), "orders/1/7"),
        (message(b"[]"), "orders/1/7"),
    ],
)
def test_an_event_has_an_id_of_its_own_or_its_messages(sent: Message, id: str) -> None:
    assert event_of(sent, read_message(sent), FakeClock()).id == id


def test_a_message_that_comes_late_is_known_for_as_long_as_any() -> None:
    late = FakeClock(NOON + timedelta(days=30))
    delivery = delivery_of(trigger(topic="orders"), event_of(message(b"{}"), {}, late))
    assert delivery is not None
    assert delivery.expires_at == late.now() + DELIVERIES_KEPT


def test_messages_of_a_topic_that_was_made_anew_are_others() -> None:
    first = message(b"{}")
    later = Message(first.topic, first.partition, first.offset, None, b"{}", (), NOON + timedelta(days=1))
    keys = {delivery_of(trigger(), event_of(each, {}, FakeClock())) for each in (first, first, later)}
    assert len({key.hash for key in keys if key is not None}) == 2
