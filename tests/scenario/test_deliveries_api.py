"""Messages listed, and WhatsApp's reports of them: signed, verified, taken."""

import hashlib
import hmac
from collections.abc import AsyncIterator

import pytest

from api_for_tests import Client, Documented
from databases import fresh_database
from muster.app.build import opened
from muster.app.settings import Settings
from stand_ins.whatsapp import PHONE, cloud_api, notification, status
from stand_ins.whatsapp import TOKEN as ACCESS

SECRET, TOKEN = "app-secret", "verify-me"
HOOK = "/api/webhooks/whatsapp"
MAIL = {"to": "ada@example.com", "subject": "Hi", "body": "x"}
WRITE = {
    "workflow": {
        "key": "write",
        "name": "Write",
        "nodes": [
            {
                "id": "mail",
                "type": "SEND_EMAIL",
                "config": {"to": "ada@example.com", "subject": "Hi", "body": "x"},
            },
            {"id": "chat", "type": "SEND_WHATSAPP", "config": {"to": "+491511234567", "message": "Hello"}},
        ],
    }
}


@pytest.fixture
async def writing() -> AsyncIterator[Client]:
    """A caller of a Muster that has an account at the stand-in of WhatsApp's API."""
    async with fresh_database("sqlite", None) as url, cloud_api() as api:
        whatsapp = {
            "phone_number_id": PHONE,
            "token": ACCESS,
            "base_url": api.base,
            "verify_token": TOKEN,
            "app_secret": SECRET,
        }
        settings = Settings.model_validate({"database": {"url": url}, "whatsapp": whatsapp})
        async with opened(settings) as house:
            async with Client(house.api, Documented({"paths": {}})) as plain:
                document = (await plain.get("/openapi.json")).json()
            async with Client(house.api, Documented(document)) as client:
                await client.post("/api/workflow", json=WRITE)
                ended = await client.post("/api/workflow/execute?wait=60", json={"key": "write"})
                assert ended.json()["status"] == "COMPLETED", ended.text
                yield client


async def listed(client: Client, query: str = "") -> list[dict[str, str]]:
    answer = await client.get(f"/api/deliveries{query}")
    assert answer.status_code == 200
    rows: list[dict[str, str]] = answer.json()["items"]
    return rows


async def test_messages_are_listed_by_execution_channel_and_status(writing: Client) -> None:
    rows = await listed(writing)
    assert [(row["channel"], row["status"]) for row in rows] == [("whatsapp", "sent"), ("email", "captured")]
    assert [row["id"] for row in await listed(writing, "?channel=email")] == [rows[1]["id"]]
    assert [row["id"] for row in await listed(writing, "?status=sent")] == [rows[0]["id"]]
    assert len(await listed(writing, f"?execution={rows[0]['executionId']}")) == 2
    assert await listed(writing, "?execution=nowhere") == []
    page = (await writing.get("/api/deliveries?limit=1")).json()
    assert len(await listed(writing, f"?limit=1&cursor={page['nextCursor']}")) == 1
    for wrong in ("?channel=pigeon", "?status=lost", "?colour=red"):
        assert (await writing.get(f"/api/deliveries{wrong}")).status_code == 400


async def test_whatsapps_reports_change_the_message_that_they_are_about(writing: Client) -> None:
    (row,) = await listed(writing, "?channel=whatsapp")
    body, headers = notification(
        SECRET, status(row["providerId"], "delivered"), status("wamid.other", "read")
    )
    for counts in ((1, 0, 1), (0, 1, 1)):
        taken = await writing.post(HOOK, content=body, headers=headers)
        assert taken.status_code == 200
        assert (taken.json()["changed"], taken.json()["unchanged"], taken.json()["unknown"]) == counts
    assert [row["status"] for row in await listed(writing, "?channel=whatsapp")] == ["delivered"]
    assert 'muster_delivery_reports_total{outcome="unknown"} 2.0' in (await writing.get("/metrics")).text


async def test_a_failure_is_kept_with_its_reason(writing: Client) -> None:
    (row,) = await listed(writing, "?channel=whatsapp")
    error = {
        "code": 131026,
        "title": "Message undeliverable",
        "error_data": {"details": "Unable to deliver."},
    }
    body, headers = notification(SECRET, status(row["providerId"], "failed", error))
    assert (await writing.post(HOOK, content=body, headers=headers)).json()["changed"] == 1
    (row,) = await listed(writing, "?channel=whatsapp")
    assert (row["status"], row["error"]) == ("failed", "Unable to deliver. (131026)")


async def test_what_is_not_signed_is_not_taken(writing: Client) -> None:
    body, headers = notification(SECRET, status("x", "read"))
    for wrong in ({}, {"X-Hub-Signature-256": "sha256="}, notification("other", status("x", "read"))[1]):
        assert (await writing.post(HOOK, content=body, headers=wrong)).status_code == 401
    assert (await writing.post(HOOK, content=body + b" ", headers=headers)).status_code == 401


@pytest.mark.parametrize(
    "document", [b"[]", b"{}", b'{"entry": [{"changes": [{"value": {"messages": [{"id": "x"}]}}, 7]}, null]}']
)
async def test_what_says_nothing_of_a_message_is_accepted(writing: Client, document: bytes) -> None:
    signature = hmac.new(SECRET.encode(), document, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={signature}"}
    assert (await writing.post(HOOK, content=document, headers=headers)).status_code == 200


async def test_whatsapp_is_told_that_this_is_its_webhook_if_it_shows_the_token(writing: Client) -> None:
    asked = {"hub.mode": "subscribe", "hub.verify_token": TOKEN, "hub.challenge": "1158201444"}
    answer = await writing.get(HOOK, params=asked)
    assert (answer.status_code, answer.text) == (200, "1158201444")
    for wrong in ({"hub.verify_token": "x"}, {"hub.mode": "unsubscribe"}):
        assert (await writing.get(HOOK, params=asked | wrong)).status_code == 403


async def test_where_nothing_is_configured_no_report_is_taken(client: Client) -> None:
    body, headers = notification(SECRET, status("x", "read"))
    assert (await client.post(HOOK, content=body, headers=headers)).status_code == 501
    assert (await client.get(HOOK, params={"hub.mode": "subscribe"})).status_code == 501
