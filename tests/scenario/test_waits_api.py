"""Waits for events over HTTP: callbacks, what is parked, near misses, and help by hand."""

import base64
import hmac
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_for_tests import Client
from muster.app.build import House, opened
from muster.app.settings import CallbackSettings, Settings
from scenario.test_executions_api import until

CALLBACK = "/api/internal/callbacks/external-service"
EVENTS = [{"name": "paid", "source": "callback"}, {"name": "sent", "source": "callback"}]


async def waiting(client: Client, **config: Any) -> tuple[str, dict[str, Any]]:
    """An execution that waits for two callbacks, and its wait."""
    node = {"id": "w", "type": "wait_events", "config": {"events": EVENTS, **config}}
    made = await client.post("/api/workflow", json={"workflow": {"name": "wait", "nodes": [node]}})
    assert made.status_code == 201, made.text
    started = await client.post(
        "/api/workflow/execute", json={"workflowId": made.json()["id"], "context": {}}
    )
    execution = started.json()["executionId"]
    seen = await until(client, execution, "WAITING")
    return execution, seen["waits"][0]


def ids(execution: str, wait: dict[str, Any]) -> dict[str, str]:
    return {"execution_id": execution, "correlation_id": wait["correlationId"]}


async def test_what_is_parked_says_what_it_needs_and_has(client: Client) -> None:
    execution, wait = await waiting(client)
    assert (wait["kind"], wait["enabledEvents"], wait["neededEvents"]) == (
        "events",
        ["paid", "sent"],
        ["paid", "sent"],
    )
    assert wait["explanation"].startswith("It needs paid, sent and has nothing yet")
    first = await client.post(CALLBACK, json={**ids(execution, wait), "event_name": "sent"})
    assert first.json() == {"accepted": True, "reason": None}
    [listed] = (await client.get("/api/waits", params={"status": "waiting"})).json()["items"]
    assert (listed["id"], listed["receivedEvents"], listed["neededEvents"]) == (
        wait["id"],
        ["sent"],
        ["paid"],
    )
    assert datetime.fromisoformat(listed["received"]["sent"]["at"])
    [seen] = (await client.get(f"/api/workflow/executions/{execution}")).json()["waits"]
    assert seen["receivedEvents"] == ["sent"]
    await client.post(CALLBACK, json={**ids(execution, wait), "amount": 5})
    ended = await until(client, execution, "COMPLETED")
    assert ended["context"]["paid"]["amount"] == 5


async def test_the_ids_are_looked_for_in_headers_then_the_query_then_the_body(client: Client) -> None:
    execution, wait = await waiting(client, aggregationStrategy="all")
    wrong = {"execution_id": "no", "correlation_id": "no"}
    named = {"X-Execution-Id": execution, "X-Correlation-Id": wait["correlationId"]}
    by_header = await client.post(CALLBACK, params=wrong, json=wrong, headers=named)
    assert by_header.json()["accepted"] is True
    by_query = await client.post(CALLBACK, params=ids(execution, wait), json=wrong)
    assert by_query.json()["accepted"] is True
    await until(client, execution, "COMPLETED")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"execution_id": "e"}, "correlation_id"),
        ({"correlation_id": "c"}, "execution_id"),
        ({"correlation_id": "c", "execution_id": 7}, "execution_id"),
        ([], "correlation_id"),
    ],
)
async def test_a_callback_without_both_ids_is_told_which_is_missing(
    client: Client, body: Any, named: str
) -> None:
    answer = await client.post(CALLBACK, json=body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == f"/{named}"


async def test_a_near_miss_is_listed_and_applied_by_hand_once(client: Client) -> None:
    execution, wait = await waiting(client)
    wrong = await client.post(CALLBACK, json={**ids("another", wait), "amount": 7})
    assert wrong.json() == {"accepted": False, "reason": "EXECUTION_MISMATCH"}
    [miss] = (await client.get("/api/near-misses", params={"wait": wait["id"]})).json()["items"]
    assert (miss["reason"], miss["payload"]["amount"]) == ("EXECUTION_MISMATCH", 7)
    [of_it] = (await client.get("/api/near-misses", params={"execution": execution})).json()["items"]
    assert of_it["id"] == miss["id"]  # of the execution whose wait it came close to, too
    path = f"/api/near-misses/{miss['id']}/apply"
    applied = await client.post(path, json={"event": "paid", "reason": "theirs was a typing error"})
    assert (applied.status_code, applied.json()["receivedEvents"]) == (200, ["paid"])
    again = await client.post(path, json={"event": "sent"})
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    audits = (await client.get(f"/api/audit?entityType=wait&entityId={wait['id']}")).json()
    assert [each["details"]["event"] for each in audits["items"]] == ["paid"]
    seen = (await client.get(f"/api/waits/{wait['id']}")).json()
    assert "1 event came close" in seen["explanation"]
    assert [each["appliedTo"] for each in seen["missed"]] == [wait["id"]]
    assert (await client.post("/api/near-misses/999999/apply")).status_code == 404


async def test_a_wait_whose_time_was_over_is_armed_again_with_what_it_had(client: Client) -> None:
    execution, wait = await waiting(client, timeout=2)
    await client.post(CALLBACK, json={**ids(execution, wait), "event_name": "paid"})
    await until(client, execution, "FAILED")
    path = f"/api/waits/{wait['id']}/rearm"
    for timeout in ("soon", 0, "PT0S", "P200Y"):
        assert (await client.post(path, json={"timeout": timeout})).status_code == 422, timeout
    armed = await client.post(path, json={"timeout": "1h", "reason": "they are back"})
    assert (armed.status_code, armed.json()["status"]) == (200, "waiting"), armed.text
    seen = await until(client, execution, "WAITING")
    assert seen["waits"][0]["correlationId"] == wait["correlationId"]
    letters = (await client.get("/api/dead-letters")).json()["items"]
    assert [each["status"] for each in letters if each["key"] == execution] == ["redriven"]
    assert (await client.post(path, json={})).status_code == 409
    await client.post(CALLBACK, json={**ids(execution, wait), "event_name": "sent"})
    ended = await until(client, execution, "COMPLETED")
    assert {"paid", "sent"} <= ended["context"].keys()


async def test_a_condition_that_cannot_be_computed_says_so_where_its_wait_is_read(
    client: Client,
) -> None:
    when = "#{received.paid.amount.missing.size() > 1}"
    execution, wait = await waiting(client, aggregationStrategy="custom", completeWhen=when)

    async def explanation() -> str:
        return str((await client.get(f"/api/waits/{wait['id']}")).json()["explanation"])

    await client.post(CALLBACK, json={**ids(execution, wait), "event_name": "paid", "amount": 5})
    assert "`completeWhen` cannot be computed with what has come: " in await explanation()
    await client.post(CALLBACK, json={**ids(execution, wait), "event_name": "sent"})
    assert "cannot be computed" in await explanation()
    [seen] = (await client.get(f"/api/workflow/executions/{execution}")).json()["waits"]
    assert "cannot be computed" in seen["explanation"]


async def test_a_condition_that_did_not_hold_in_time_is_told_as_the_error(client: Client) -> None:
    when = "#{received.paid.amount.missing.size() > 1}"
    execution, wait = await waiting(client, aggregationStrategy="custom", completeWhen=when, timeout=2)
    await client.post(CALLBACK, json={**ids(execution, wait), "event_name": "paid", "amount": 5})
    failed = await until(client, execution, "FAILED")
    assert failed["error"]["message"].startswith("`completeWhen` did not hold in time: it cannot be computed")


async def test_with_a_secret_callbacks_have_to_be_signed(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, callbacks=CallbackSettings(hmac_secret="s3cret"))  # type: ignore[arg-type]  # as text, as it comes
    async with opened(settings) as house:
        client = _plain(house)
        body = b'{"execution_id": "e", "correlation_id": "c"}'
        assert (await client.post(CALLBACK, content=body)).status_code == 401
        seconds = str(int(datetime.now().astimezone().timestamp()))
        signature = base64.b64encode(hmac.digest(b"s3cret", f"m1.{seconds}.".encode() + body, "sha256"))
        headers = {
            "webhook-id": "m1",
            "webhook-timestamp": seconds,
            "webhook-signature": f"v1,{signature.decode()}",
        }
        signed = await client.post(CALLBACK, content=body, headers=headers)
        assert signed.json() == {"accepted": False, "reason": "NOT_WAITING"}


def _plain(house: House) -> Any:
    transport = httpx.ASGITransport(app=house.api)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
