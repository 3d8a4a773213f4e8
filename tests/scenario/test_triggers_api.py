"""Triggers over HTTP: made, changed, listed, removed; and those that a definition brings with it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from api_for_tests import Client
from muster.app.build import House, opened
from muster.app.settings import Settings

Holding = Callable[..., Awaitable[Client]]
KEY = "A" * 43 + "="
PATH = "/api/workflow/triggers"
STEP = {
    "id": "note",
    "type": "TRANSFORM",
    "config": {"transformations": [{"field": "seen", "expression": "#{1}"}]},
}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """With a key to encrypt secrets with."""
    async with opened(Settings.model_validate({"data_dir": str(tmp_path), "secret_key": KEY})) as found:
        yield found


def workflow(key: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    return {"workflow": {"name": key, "key": key, "nodes": [*nodes, STEP]}}


def hook(**config: Any) -> dict[str, Any]:
    return {"id": "start", "type": "TRIGGER", "config": {"triggerType": "webhook", **config}}


async def saved(client: Client, key: str, *nodes: dict[str, Any]) -> str:
    made = await client.post("/api/workflow", json=workflow(key, *nodes))
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def of(client: Client, workflow: str) -> list[dict[str, Any]]:
    return list((await client.get(PATH, params={"workflow": workflow})).json()["items"])


async def test_a_trigger_is_made_read_changed_and_deleted(client: Client) -> None:
    workflow_id = await saved(client, "orders")
    body = {"workflowId": "orders", "path": "orders/paid", "condition": "#{amount > 0}"}
    made = await client.post(PATH, json=body)
    assert (made.status_code, made.headers["etag"]) == (201, '"1"'), made.text
    row = made.json()
    assert (row["workflowId"], row["type"], row["authentication"]) == (workflow_id, "webhook", "JWT")
    assert (row["status"], row["nodeId"], row["secrets"]) == ("ACTIVE", None, [])
    assert row.pop("warnings") == []
    assert "secret" not in row
    one = f"{PATH}/{row['id']}"
    assert (await client.get(one)).json() == row
    assert await of(client, "orders") == [row]

    changed = await client.put(one, json={**body, "status": "INACTIVE"}, headers={"If-Match": '"1"'})
    assert (changed.json()["status"], changed.json()["version"]) == ("INACTIVE", 2), changed.text
    late = await client.put(one, json=body, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["code"]) == (412, "STALE_VERSION")
    assert (await client.delete(one)).status_code == 204
    for method in ("GET", "DELETE", "PUT"):
        answer = await client.request(method, one, json=body if method == "PUT" else None)
        assert answer.status_code == 404
    log = await client.get("/api/audit", params={"entityType": "trigger", "entityId": row["id"]})
    assert [entry["action"] for entry in log.json()["items"]] == ["delete", "replace", "create"]


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"workflowId": None}, "/workflowId"),
        ({"type": "mail"}, "/type"),
        ({"pth": "x"}, "/pth"),
        ({"path": "a b"}, "/path"),
        ({"path": "a/../b"}, "/path"),
        ({"condition": "#{amount >}"}, "/condition"),
        ({"filter": {"a..b": 1}}, "/filter/a..b"),
        ({"type": "event"}, "/triggerEventName"),
        ({"type": "event", "topic": "t", "triggerEventName": "E"}, "/triggerEventName"),
        ({"type": "event", "topic": "no spaces"}, "/topic"),
        ({"topic": "orders"}, "/topic"),
        ({"type": "event", "triggerEventName": "E", "authentication": "HMAC"}, "/authentication"),
        ({"type": "alert", "path": "x"}, "/path"),
        (
            {"idempotencyGenerationSetting": {"strategy": "TIMEWINDOW"}},
            "/idempotencyGenerationSetting/strategy",
        ),
        ({"idempotencyGenerationSetting": {"strategy": "TIME_WINDOW"}}, "/idempotencyGenerationSetting"),
    ],
)
async def test_what_is_wrong_is_told_with_its_place(
    client: Client, wrong: dict[str, object], pointer: str
) -> None:
    await saved(client, "orders")
    refused = await client.post(PATH, json={"workflowId": "orders", **wrong})
    assert refused.status_code == 422, refused.text
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


async def test_an_open_trigger_is_warned_about(client: Client) -> None:
    await saved(client, "orders")
    made = await client.post(PATH, json={"workflowId": "orders", "authentication": "NONE"})
    assert [warning["code"] for warning in made.json()["warnings"]] == ["OPEN_TRIGGER"]


async def test_a_path_is_in_use_once(client: Client) -> None:
    await saved(client, "orders")
    body = {"workflowId": "orders", "path": "/orders/"}
    first = await client.post(PATH, json=body)
    assert first.json()["path"] == "orders"
    again = await client.post(PATH, json=body)
    assert (again.status_code, again.json()["code"]) == (409, "TAKEN")
    other = (await client.post(PATH, json={"workflowId": "orders"})).json()["id"]
    assert (await client.put(f"{PATH}/{other}", json=body)).json()["code"] == "TAKEN"
    document = workflow("bills", hook(endpoint="/api/workflow/trigger/orders"))
    refused = await client.post("/api/workflow", json=document)
    assert (refused.status_code, refused.json()["detail"]) == (409, "The path 'orders' is in use already.")
    assert (await client.get("/api/workflow/bills")).status_code == 404


async def test_a_secret_is_told_once_and_rotated_and_revoked(client: Client) -> None:
    await saved(client, "orders")
    made = (await client.post(PATH, json={"workflowId": "orders", "authentication": "HMAC"})).json()
    assert made["secret"].startswith("whsec_")
    assert len(made["secrets"]) == 1
    one = f"{PATH}/{made['id']}"
    shown = await client.get(one)
    assert "secret" not in shown.json()
    assert made["secret"] not in shown.text

    rotated = [(await client.post(f"{one}/rotate")).json() for _ in range(3)]
    assert len({made["secret"], *(each["secret"] for each in rotated)}) == 4
    assert [len(each["secrets"]) for each in rotated] == [2, 2, 2]
    kept = (await client.post(f"{one}/revoke")).json()
    assert kept["secrets"] == rotated[-1]["secrets"][:1]

    without = await client.put(one, json={"authentication": "JWT"})
    assert without.json()["secrets"] == []
    for action in ("rotate", "revoke"):
        assert (await client.post(f"{one}/{action}")).json()["code"] == "CONFLICT"
    again = (await client.put(one, json={"authentication": "HMAC"})).json()
    assert again["secret"].startswith("whsec_")
    assert len(again["secrets"]) == 1


async def test_without_a_key_to_encrypt_with_there_are_no_secrets(tmp_path: Path) -> None:
    async with opened(Settings.model_validate({"data_dir": str(tmp_path / "b")})) as house:
        from api_for_tests import Documented

        async with Client(house.api, Documented({"paths": {}, "components": {}})) as plain:
            plain.event_hooks = {}
            await saved(plain, "orders", hook(authentication="HMAC"))
            refused = await plain.post(PATH, json={"workflowId": "orders", "authentication": "HMAC"})
            assert (refused.status_code, refused.json()["code"]) == (501, "NOT_CONFIGURED")
            [of_definition] = await of(plain, "orders")
            refused = await plain.post(f"{PATH}/{of_definition['id']}/rotate")
            assert refused.status_code == 501


async def test_a_definition_brings_its_triggers_with_it(client: Client) -> None:
    await saved(
        client,
        "orders",
        hook(
            endpoint="/api/workflow/trigger/orders",
            authentication="NONE",
            condition="#{amount > 0}",
            idempotencyGenerationSetting={"strategy": "UUID"},
        ),
    )
    [found] = await of(client, "orders")
    assert (found["nodeId"], found["path"], found["type"]) == ("start", "orders", "webhook")
    assert (found["authentication"], found["condition"]) == ("NONE", "#{amount > 0}")
    assert found["idempotencyGenerationSetting"] == {"strategy": "UUID"}
    one = f"{PATH}/{found['id']}"
    for method in ("PUT", "DELETE"):
        refused = await client.request(method, one, json={} if method == "PUT" else None)
        assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"triggerType": "api"}, "webhook"),
        ({"triggerType": "event", "triggerEventName": "E"}, "event"),
        ({"triggerType": "alert"}, "alert"),
        ({"triggerEventName": "E"}, "event"),
        ({"endpoint": "/api/workflow/trigger"}, "webhook"),
        ({"triggerType": "manual"}, None),
        ({"triggerType": "schedule"}, None),
        ({}, None),
    ],
)
async def test_which_nodes_are_triggers(client: Client, config: dict[str, Any], kind: str | None) -> None:
    await saved(client, "orders", {"id": "start", "type": "TRIGGER", "config": config})
    assert [found["type"] for found in await of(client, "orders")] == ([] if kind is None else [kind])


async def test_activating_a_version_replaces_the_definitions_triggers_and_no_others(client: Client) -> None:
    await saved(client, "orders", hook(path="first", authentication="HMAC"))
    own = (await client.post(PATH, json={"workflowId": "orders", "path": "own"})).json()["id"]
    [before] = [found for found in await of(client, "orders") if found["nodeId"]]
    secret = (await client.post(f"{PATH}/{before['id']}/rotate")).json()["secrets"]

    second = workflow("orders", hook(path="second", authentication="HMAC"))
    await client.put("/api/workflow/orders", json=second)
    assert {found["path"] for found in await of(client, "orders")} == {"first", "own"}
    await client.post("/api/workflow/orders/activate")
    after = {found["path"]: found for found in await of(client, "orders")}
    assert after.keys() == {"second", "own"}
    assert (after["second"]["id"], after["second"]["secrets"]) == (before["id"], secret)
    assert after["own"]["id"] == own

    await client.put("/api/workflow/orders", json=workflow("orders"), params={"activate": "true"})
    assert [found["path"] for found in await of(client, "orders")] == ["own"]
    await client.post("/api/workflow/orders/activate", json={"version": 1})
    again = {found["path"]: found for found in await of(client, "orders")}
    assert (again["first"]["id"], again["first"]["secrets"]) == (before["id"], [])


async def test_nodes_may_swap_their_paths(client: Client) -> None:
    def both(first: str, second: str) -> dict[str, Any]:
        nodes = [hook(path=first), {**hook(path=second), "id": "other"}]
        routing = [
            {"fromNodeId": "start", "toNodeId": "note", "type": "goto"},
            {"fromNodeId": "other", "toNodeId": "note", "type": "goto"},
        ]
        return {"workflow": {"name": "orders", "key": "orders", "nodes": [*nodes, STEP], "routing": routing}}

    assert (await client.post("/api/workflow", json=both("a", "b"))).status_code == 201
    swapped = await client.put("/api/workflow/orders", json=both("b", "a"), params={"activate": "true"})
    assert swapped.status_code == 200, swapped.text
    assert {found["nodeId"]: found["path"] for found in await of(client, "orders")} == {
        "start": "b",
        "other": "a",
    }


async def test_editors_make_triggers_viewers_read_them_producers_do_neither(
    client: Client, holding: Holding
) -> None:
    await saved(client, "orders")
    body = {"workflowId": "orders"}
    one = f"{PATH}/{(await client.post(PATH, json=body)).json()['id']}"
    for role, may_read, may_write in (
        ("viewer", 200, 403),
        ("operator", 200, 403),
        ("producer", 403, 403),
        ("editor", 200, 201),
    ):
        caller = await holding(role)
        assert (await caller.get(PATH)).status_code == may_read
        assert (await caller.get(one)).status_code == may_read
        assert (await caller.post(PATH, json=body)).status_code == may_write
        if may_write == 403:
            assert (await caller.put(one, json=body)).status_code == 403
            assert (await caller.delete(one)).status_code == 403
            for action in ("rotate", "revoke"):
                assert (await caller.post(f"{one}/{action}")).status_code == 403


async def test_another_institutes_triggers_are_not_there(client: Client, holding: Holding) -> None:
    theirs, others = await holding("editor", institute="A"), await holding("editor", institute="B")
    await saved(theirs, "orders")
    made = await theirs.post(PATH, json={"workflowId": "orders", "authentication": "HMAC"})
    one = f"{PATH}/{made.json()['id']}"
    assert made.json()["instituteId"] == "A"
    assert (await others.get(PATH)).json()["items"] == []
    assert (await others.post(PATH, json={"workflowId": "orders"})).status_code == 404
    for method, path in (("GET", one), ("DELETE", one), ("POST", f"{one}/rotate"), ("POST", f"{one}/revoke")):
        assert (await others.request(method, path)).status_code == 404
    assert (await others.put(one, json={})).status_code == 404
