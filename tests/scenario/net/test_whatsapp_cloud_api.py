"""WhatsApp through the real HTTP client, against a stand-in that speaks the published protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.expr import Scope
from muster.model.json import Json, JsonObject
from muster.net.egress import EgressPolicy
from muster.net.http import HttpClient
from muster.net.whatsapp import CapturingWhatsApp, CloudApi, CloudWhatsApp
from muster.nodes.ports import Channel, Delivery, DeliveryStatus, WhatsApp
from muster.nodes.send_whatsapp import SendWhatsApp
from stand_ins.http_site import Reply
from stand_ins.whatsapp import PHONE, TOKEN, CloudApiStandIn, Refusal, cloud_api

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)


class Record:
    def __init__(self) -> None:
        self.kept: list[Delivery] = []

    async def record(self, delivery: Delivery) -> None:
        self.kept.append(delivery)


class House:
    """The handler on the real client, and the record that it keeps."""

    def __init__(self, whatsapp: WhatsApp) -> None:
        self.record = Record()
        self._handler = SendWhatsApp(whatsapp, self.record)

    async def send(self, item: Json = None, **params: Json) -> Done | Failure:
        call = Call("e1", "w1", "north", "remind", 1, 1, Scope({"item": item}, NOW), "ada")
        return await self._handler(params, call)

    async def fails(self, **params: Json) -> Failure:
        outcome = await self.send(**params)
        assert isinstance(outcome, Failure), outcome
        return outcome


@asynccontextmanager
async def house_at(api: CloudApiStandIn, **more: str) -> AsyncIterator[House]:
    account = replace(CloudApi(PHONE, TOKEN, base=api.base, per_second=0), **more)  # type: ignore[arg-type]  # by name
    client = HttpClient(EgressPolicy(loopback=True))
    try:
        yield House(CloudWhatsApp(account, client))
    finally:
        await client.close()


async def test_a_text_is_sent_and_recorded_with_its_message_id() -> None:
    async with cloud_api() as api, house_at(api) as house:
        outcome = await house.send(to="+49 (151) 234-56789", message="Hello Ada 👋")
    assert outcome == Done({"messageId": "wamid.0001", "status": "sent", "to": "4915123456789"})
    (body,) = api.taken
    assert (body["type"], body["text"]) == ("text", {"preview_url": False, "body": "Hello Ada 👋"})
    assert body["biz_opaque_callback_data"] == "e1:remind:1:ada"
    (kept,) = house.record.kept
    assert (kept.channel, kept.status, kept.provider_id) == (
        Channel.WHATSAPP,
        DeliveryStatus.SENT,
        "wamid.0001",
    )
    assert (kept.recipient, kept.body, kept.sent_at) == ("4915123456789", "Hello Ada 👋", NOW)


async def test_without_to_it_goes_to_the_items_phone() -> None:
    async with cloud_api() as api, house_at(api) as house:
        await house.send({"phone": 4915123456789}, message="Hi")
    assert api.taken[0]["to"] == "4915123456789"


async def test_a_template_goes_with_its_language_and_components() -> None:
    components: Json = [{"type": "body", "parameters": [{"type": "text", "text": "Ada"}]}]
    async with cloud_api() as api, house_at(api) as house:
        api.templates = {"reminder": ({"de", "en_US"}, 1), "plain": ({"en_US"}, 0)}
        full: JsonObject = {"name": "reminder", "language": "de", "components": components}
        assert isinstance(await house.send(to="4915123456789", template=full), Done)
        assert isinstance(await house.send(to="4915123456789", template={"name": "plain"}), Done)
        wrong = await house.fails(to="4915123456789", template={"name": "reminder", "language": "de"})
        unknown = await house.fails(to="4915123456789", template={"name": "gone"})
    assert api.taken[0]["template"] == {
        "name": "reminder",
        "language": {"code": "de"},
        "components": components,
    }
    assert api.taken[1]["template"] == {"name": "plain", "language": {"code": "en_US"}}
    assert (wrong.retryable, unknown.retryable) == (False, False)
    assert "132000" in wrong.message
    assert "132001" in unknown.message


async def test_rate_limits_are_tried_again_after_a_while() -> None:
    async with cloud_api() as api, house_at(api) as house:
        api.per_recipient = 1
        await house.send(to="4915123456789", message="one")
        pair = await house.fails(to="4915123456789", message="two")
        api.in_all = 1
        all_of_it = await house.fails(to="4915100000000", message="three")
    assert (pair.type, pair.retryable, pair.retry_after) == ("WhatsAppRateLimit", True, 6.0)
    assert (all_of_it.type, all_of_it.retryable, all_of_it.retry_after) == ("WhatsAppRateLimit", True, 1.0)
    assert [kept.status for kept in house.record.kept] == ["sent", "failed", "failed"]


@pytest.mark.parametrize(
    ("status", "code", "more", "retryable"),
    [
        (400, 4, {}, True),
        (400, 80007, {}, True),
        (429, 130429, {}, True),
        (400, 131048, {}, True),
        (400, 131056, {}, True),
        (500, 1, {}, True),
        (503, 2, {}, True),
        (500, 131000, {}, True),
        (503, 131016, {}, True),
        (400, 131057, {}, True),
        (400, 987654, {"is_transient": True}, True),
        (500, 987654, {}, True),
        (400, 987654, {}, False),
        (401, 190, {}, False),
        (400, 100, {}, False),
        (500, 100, {}, False),
        (403, 10, {}, False),
        (403, 200, {}, False),
        (400, 131026, {}, False),
        (400, 131047, {}, False),
        (400, 131051, {}, False),
        (404, 132001, {}, False),
        (400, 368, {}, False),
        (400, 130472, {}, False),
    ],
)
async def test_each_error_code_says_whether_it_may_pass(
    status: int, code: int, more: dict[str, object], retryable: bool
) -> None:
    async with cloud_api() as api, house_at(api) as house:
        api.next_refusals = [Refusal(status, code, "because", **more)]
        failure = await house.fails(to="4915123456789", message="Hi")
    assert failure.retryable == retryable
    assert failure.message == f"WhatsApp refuses the message: because (code {code})"


async def test_a_token_that_is_refused_is_not_repeated() -> None:
    async with cloud_api() as api, house_at(api, token="EAAG-wrong-secret") as house:
        failure = await house.fails(to="4915123456789", message="Hi")
    assert (failure.type, failure.retryable) == ("WhatsAppError", False)
    assert "190" in failure.message
    assert "secret" not in failure.message
    assert "secret" not in str(house.record.kept)
    assert "secret" not in repr(CloudApi(PHONE, TOKEN))


async def test_an_account_that_is_not_there_is_not_tried_again() -> None:
    async with cloud_api() as api, house_at(api, phone_number_id="1") as house:
        assert not (await house.fails(to="4915123456789", message="Hi")).retryable


@pytest.mark.parametrize(
    ("reply", "retryable"),
    [
        (Reply(502, {"Content-Type": "text/html"}, b"<html>bad gateway"), True),
        (Reply(404, {}, b""), False),
        (Reply(429, {}, b"[]"), True),
        (Reply(200, {}, b"{}"), False),
        (Reply(200, {}, b'{"messages": [{}]}'), False),
        (Reply(400, {}, b'{"error": "text"}'), False),
        (Reply(500, {}, b'{"error": {"code": "text"}}'), True),
    ],
)
async def test_an_answer_outside_the_protocol_is_a_failure(reply: Reply, retryable: bool) -> None:
    async with cloud_api() as api, house_at(api) as house:
        assert api.site is not None
        api.site.answer = lambda _: reply
        assert (await house.fails(to="4915123456789", message="Hi")).retryable == retryable


async def test_a_server_that_is_away_may_pass() -> None:
    async with cloud_api() as api:
        base = api.base
    client = HttpClient(EgressPolicy(loopback=True))
    house = House(CloudWhatsApp(CloudApi(PHONE, TOKEN, base=base), client))
    failure = await house.fails(to="4915123456789", message="Hi")
    await client.close()
    assert (failure.type, failure.retryable) == ("NetworkError", True)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"message": "Hi"}, "`to`"),
        ({"to": "", "message": "Hi"}, "`to`"),
        ({"to": "ada", "message": "Hi"}, "phone number"),
        ({"to": "12", "message": "Hi"}, "phone number"),
        ({"to": "49151234567\r\n89x", "message": "Hi"}, "phone number"),
        ({"to": "4915123456789"}, "`message`"),
        ({"to": "4915123456789", "message": "  "}, "`message`"),
        ({"to": "4915123456789", "message": "x" * 4097}, "4,096"),
        ({"to": "4915123456789", "template": {"name": ""}}, "`template.name`"),
        ({"to": "4915123456789", "template": {"name": "a", "components": "x"}}, "`template.components`"),
        ({"to": "4915123456789", "template": "a"}, "`template`"),
    ],
)
async def test_a_message_that_cannot_be_is_refused_before_it_is_sent(params: JsonObject, named: str) -> None:
    house = House(CapturingWhatsApp())
    failure = await house.fails(**params)
    assert (failure.type, failure.retryable) == ("BadParameter", False)
    assert named in failure.message
    assert house.record.kept == []


async def test_half_a_character_is_refused_before_it_is_sent() -> None:
    async with cloud_api() as api, house_at(api) as house:
        failure = await house.fails(to="4915123456789", message="a\ud800")
    assert (failure.type, api.taken) == ("BadMessage", [])


async def test_without_an_account_messages_are_captured() -> None:
    house = House(CapturingWhatsApp())
    outcome = await house.send(to="4915123456789", message="Hi")
    assert isinstance(outcome, Done)
    assert isinstance(outcome.output, dict)
    assert outcome.output["status"] == "captured"
    (kept,) = house.record.kept
    assert (kept.status, kept.sent_at) == (DeliveryStatus.CAPTURED, None)
