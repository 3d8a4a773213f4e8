"""Triggers of definitions and of the API are held to the same rules, and leave nothing half done."""

from pathlib import Path
from typing import Any

import pytest

from api_for_tests import Client, Documented
from muster.app.build import House, opened
from muster.app.settings import Settings

TRIGGERS, FIRE = "/api/workflow/triggers", "/api/workflow/trigger"
ECHO = {"id": "echo", "type": "NOOP", "config": {}}


@pytest.fixture
def house(house_with_secrets: House) -> House:
    return house_with_secrets


def workflow(key: str, **config: Any) -> dict[str, Any]:
    start = [{"id": "start", "type": "TRIGGER", "config": config}] if config else []
    return {"workflow": {"name": key, "key": key, "nodes": [*start, ECHO]}}


async def saved(client: Client, key: str, **config: Any) -> dict[str, Any]:
    made = await client.post("/api/workflow", json=workflow(key, **config))
    assert made.status_code == 201, made.text
    return dict(made.json())


# --- one set of rules -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"triggerType": "event"}, ""),
        ({"triggerType": "event", "topic": "t", "triggerEventName": "E"}, "triggerEventName"),
        ({"triggerType": "event", "triggerEventName": "E", "authentication": "HMAC"}, "authentication"),
        ({"triggerType": "event", "triggerEventName": "E", "path": "x"}, "path"),
        ({"triggerType": "event", "triggerEventName": "E", "endpoint": "x"}, "endpoint"),
        ({"triggerType": "webhook", "topic": "orders"}, "topic"),
        ({"triggerType": "webhook", "filter": {"a..b": 1}}, "filter/a..b"),
    ],
)
async def test_what_the_api_refuses_no_definition_may_say(
    client: Client, config: dict[str, Any], name: str
) -> None:
    refused = await client.post("/api/workflow", json=workflow("orders", **config))
    assert refused.status_code == 422, refused.text
    [error] = refused.json()["errors"]
    # What is missing is said of where it should be.
    assert error["pointer"] == f"/workflow/nodes/0/config{f'/{name}' if name else ''}"


async def test_a_signed_trigger_is_warned_about_where_no_secrets_can_be_kept(
    tmp_path: Path, client: Client, documented: Documented
) -> None:
    signed = workflow("orders", triggerType="webhook", authentication="HMAC")
    with_key = await client.post("/api/workflow/validate", json=signed)
    assert with_key.json()["warnings"] == []
    folder = tmp_path / "keyless"
    folder.mkdir()
    keyless = Settings.model_validate({"data_dir": str(folder)})
    async with opened(keyless) as found, Client(found.api, documented) as other:
        [warning] = (await other.post("/api/workflow/validate", json=signed)).json()["warnings"]
        assert (warning["code"], warning["pointer"]) == (
            "SECRETS_UNAVAILABLE",
            "/workflow/nodes/0/config/authentication",
        )
        await saved(other, "bills")
        body = {"workflowId": "bills", "path": "bills"}
        made = (await other.post(TRIGGERS, json=body)).json()
        refused = await other.put(f"{TRIGGERS}/{made['id']}", json={**body, "authentication": "HMAC"})
        assert (refused.status_code, refused.json()["code"]) == (501, "NOT_CONFIGURED")
        kept = (await other.get(f"{TRIGGERS}/{made['id']}")).json()
        assert (kept["authentication"], kept["version"]) == ("JWT", 1)


async def test_a_trigger_that_is_signed_from_now_on_has_its_secret_at_once(client: Client) -> None:
    await saved(client, "orders")
    body = {"workflowId": "orders", "path": "orders"}
    made = (await client.post(TRIGGERS, json=body)).json()
    one = f"{TRIGGERS}/{made['id']}"
    first = (await client.put(one, json={**body, "authentication": "HMAC"})).json()
    assert first["secret"].startswith("whsec_")
    assert (len(first["secrets"]), first["version"]) == (1, 2)
    again = (await client.put(one, json={**body, "authentication": "HMAC"})).json()
    assert "secret" not in again
    assert again["secrets"] == first["secrets"]


# --- archived -------------------------------------------------------------------------------------------


async def test_an_archived_workflows_path_is_anybodys_until_it_is_activated_again(client: Client) -> None:
    hook = {"triggerType": "webhook", "path": "orders", "authentication": "NONE"}
    old = (await saved(client, "old", **hook))["id"]
    [before] = (await client.get(TRIGGERS, params={"workflow": "old"})).json()["items"]
    assert (await client.delete(f"/api/workflow/{old}")).status_code == 204
    new = (await saved(client, "new", **hook))["id"]
    assert (await client.post(f"{FIRE}/orders", json={})).status_code == 202
    taken = await client.post(f"/api/workflow/{old}/activate")
    assert (taken.status_code, taken.json()["code"]) == (409, "TAKEN")
    await client.delete(f"/api/workflow/{new}")
    assert (await client.post(f"{FIRE}/orders", json={})).status_code == 404
    assert (await client.post(f"/api/workflow/{old}/activate")).status_code == 200
    [after] = (await client.get(TRIGGERS, params={"workflow": "old"})).json()["items"]
    assert (after["id"], after["path"]) == (before["id"], "orders")
    assert (await client.post(f"{FIRE}/orders", json={})).status_code == 202


async def test_an_archived_workflow_gets_no_trigger(client: Client) -> None:
    workflow_id = (await saved(client, "orders"))["id"]
    await client.delete(f"/api/workflow/{workflow_id}")
    refused = await client.post(TRIGGERS, json={"workflowId": "orders"})
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert (await client.get(TRIGGERS)).json()["items"] == []
