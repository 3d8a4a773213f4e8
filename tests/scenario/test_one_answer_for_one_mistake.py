"""The same mistake gets the same answer wherever it is made; it says where, and what was expected."""

from typing import Any

import pytest

from api_for_tests import Client

EXECUTIONS = "/api/workflow/executions"
EXECUTE = "/api/workflow/execute"
NOOP = {"id": "a", "type": "NOOP"}


async def saved(client: Client, key: str, *nodes: dict[str, Any], **fields: object) -> None:
    document = {"workflow": {"key": key, "name": key, "nodes": list(nodes), **fields}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text


@pytest.mark.parametrize("path", [EXECUTIONS, "/api/workflow/schedule", "/api/workflow/triggers"])
async def test_a_list_of_a_workflow_that_is_not_there_is_not_found(client: Client, path: str) -> None:
    assert (await client.get(path, params={"workflow": "nope"})).status_code == 404


@pytest.mark.parametrize(
    ("path", "query", "told"),
    [
        (EXECUTIONS, "from=2026-01-01", "`from` must be a time with its zone, such as 2026-03-01T12:00:00Z."),
        (EXECUTIONS, "to=1", "`to` must be a time such as 2026-03-01T12:00:00Z."),
        ("/api/dead-letters", "from=1", "`from` must be a time such as 2026-03-01T12:00:00Z."),
        (EXECUTIONS, "q=%20", "`q` must hold more than spaces."),
    ],
)
async def test_a_parameter_that_cannot_be_used_is_told_what_it_should_be(
    client: Client, path: str, query: str, told: str
) -> None:
    answer = await client.get(f"{path}?{query}")
    assert (answer.status_code, answer.json()["detail"]) == (400, told)


@pytest.mark.parametrize(
    ("wait", "told"), [("nan", "`wait` must be a number."), ("61", "`wait` must be 60 or less.")]
)
async def test_what_is_no_number_of_seconds_is_told(client: Client, wait: str, told: str) -> None:
    answer = await client.post(f"{EXECUTE}?wait={wait}", json={"key": "w"})
    assert (answer.status_code, answer.json()["detail"]) == (400, told)


@pytest.mark.parametrize("at", [5, "5"])
async def test_a_number_is_no_time(client: Client, at: object) -> None:
    body = {"setting": {"strategy": "UUID"}, "events": [{"at": at}]}
    answer = await client.post("/api/workflow/idempotency/preview", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/events/0/at"


async def test_a_status_that_no_node_has_is_refused(client: Client) -> None:
    await saved(client, "w", NOOP)
    begun = (await client.post(f"{EXECUTE}?wait=60", json={"key": "w"})).json()["executionId"]
    assert (await client.get(f"{EXECUTIONS}/{begun}/nodes?status=zzz")).status_code == 400
    assert len((await client.get(f"{EXECUTIONS}/{begun}/nodes?status=completed")).json()["items"]) == 1


async def test_an_id_that_nothing_can_have_is_not_found_whatever_is_done(client: Client) -> None:
    assert (await client.get(f"{EXECUTIONS}/%00")).status_code == 404
    assert (await client.post(f"{EXECUTIONS}/%00/cancel")).status_code == 404


async def test_what_is_missing_to_start_is_among_the_errors(client: Client) -> None:
    answer = await client.post(EXECUTE, json={})
    assert answer.status_code == 422
    assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [("", "MISSING")]


async def test_a_node_that_is_not_there_is_pointed_at(client: Client) -> None:
    await saved(client, "w", {"id": "a", "type": "FAIL", "config": {"message": "no"}})
    begun = (await client.post(f"{EXECUTE}?wait=60", json={"key": "w"})).json()["executionId"]
    for name in ("node", "from"):
        refused = await client.post(f"{EXECUTIONS}/{begun}/retry", json={name: "nope"})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (409, f"/{name}")
    (letter,) = (await client.get("/api/dead-letters")).json()["items"]
    refused = await client.post(f"/api/dead-letters/{letter['id']}/redrive", json={"from": "nope"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (409, "/from")


async def test_a_path_that_is_taken_is_pointed_at(client: Client) -> None:
    webhook = {"id": "t", "type": "TRIGGER", "config": {"triggerType": "webhook", "endpoint": "/hooks/one"}}
    await saved(client, "w", webhook)
    document = {"workflow": {"key": "v", "name": "v", "nodes": [NOOP, webhook]}}
    refused = await client.post("/api/workflow", json=document)
    pointer = "/workflow/nodes/1/config/endpoint"
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (409, pointer)
    await saved(client, "v", NOOP)
    refused = await client.put("/api/workflow/v?activate=true", json=document)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (409, pointer)
    trigger = {"workflowId": "w", "type": "webhook", "path": "hooks/one"}
    refused = await client.post("/api/workflow/triggers", json=trigger)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (409, "/path")


async def test_a_concurrency_key_that_cannot_be_computed_points_at_what_was_sent(client: Client) -> None:
    webhook = {
        "id": "t",
        "type": "TRIGGER",
        "config": {"triggerType": "webhook", "endpoint": "/one", "authentication": "NONE"},
    }
    await saved(client, "w", webhook, concurrency={"key": "#{ctx['n'] / 0}", "limit": 1})
    by_hand = await client.post(EXECUTE, json={"key": "w", "context": {"n": 1}})
    assert by_hand.status_code == 422, by_hand.text
    assert by_hand.json()["errors"][0]["pointer"] == "/context"
    by_path = await client.post("/api/workflow/trigger/one", json={"n": 1})
    assert by_path.status_code == 422, by_path.text
    assert by_path.json()["errors"][0]["pointer"] == ""
