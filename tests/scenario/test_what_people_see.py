"""What people are told of executions, over HTTP: how they are, by one name for each thing."""

from typing import Any

import pytest

from api_for_tests import Client
from scenario.test_executions_api import run, save, until

PATH = "/api/workflow/executions"
REST = {"id": "rest", "type": "delay", "config": {"duration": 1, "unit": "hours"}}
FAIL = {"id": "stop", "type": "FAIL", "config": {"message": "no"}}


def workflow(*nodes: dict[str, Any], key: str = "w") -> dict[str, Any]:
    chained = [
        {**node, "routing": [{"type": "goto", "targetNodeId": after["id"]}]} if after else node
        for node, after in zip(nodes, [*nodes[1:], None], strict=True)
    ]
    return {"workflow": {"key": key, "name": key, "nodes": chained}}


def by_node(whole: dict[str, Any]) -> dict[str, str]:
    return {node["nodeId"]: node["status"] for node in whole["nodes"]}


async def test_what_was_undone_is_shown_so(client: Client) -> None:
    sends = {"to": "ada@example.com", "subject": "s", "body": "b"}
    undo = {"type": "SEND_EMAIL", "config": {**sends, "subject": "never mind"}}
    mail = {"id": "mail", "type": "SEND_EMAIL", "config": sends, "compensate": undo}
    identity = await save(client, workflow(mail, FAIL))
    failed = await run(client, "w", {})
    whole = (await client.get(f"{PATH}/{failed['executionId']}")).json()
    assert by_node(whole) == {"mail": "compensated", "stop": "failed"}
    drawn = await client.get(f"/api/workflow/visualize/{identity}?execution={failed['executionId']}")
    states = {node["id"]: node["execution"]["status"] for node in drawn.json()["nodes"]}
    assert states == {"mail": "compensated", "stop": "failed"}


async def test_what_was_under_way_at_the_end_is_cancelled(client: Client) -> None:
    identity = await save(client, workflow(REST))
    started = (await client.post("/api/workflow/execute", json={"key": "w"})).json()["executionId"]
    await until(client, started, "PAUSED")
    await client.post(f"{PATH}/{started}/cancel", json={})
    whole = await until(client, started, "CANCELLED")
    assert by_node(whole) == {"rest": "cancelled"}
    paged = (await client.get(f"{PATH}/{started}/nodes")).json()
    assert [node["status"] for node in paged["items"]] == ["cancelled"]
    drawn = await client.get(f"/api/workflow/visualize/{identity}?execution={started}&format=mermaid")
    assert "cancelled" in drawn.text


async def test_what_is_tried_again_is_not_called_paused(client: Client) -> None:
    await save(client, workflow(FAIL, REST))
    failed = await run(client, "w", {})
    tried = await client.post(f"{PATH}/{failed['executionId']}/retry", json={"from": "rest"})
    assert (tried.status_code, tried.json()["status"] in ("RESUMING", "RUNNING", "PAUSED")) == (200, True)
    assert (await until(client, failed["executionId"], "PAUSED"))["currentNodeId"] == "rest"
    assert tried.json()["pending"] == []


async def test_the_node_to_go_on_from_has_one_name(client: Client) -> None:
    await save(client, workflow(FAIL, REST))
    failed = await run(client, "w", {})
    path = f"{PATH}/{failed['executionId']}/retry"
    both = await client.post(path, json={"from": "rest", "node": "stop"})
    assert (both.status_code, both.json()["errors"][0]["pointer"]) == (422, "/node")
    assert (await client.post(path, json={"node": "rest"})).status_code == 200
    body = {"action": "retry", "ids": [failed["executionId"]], "options": {"from": "rest"}}
    job = (await client.post(f"{PATH}/bulk", json=body)).json()["jobId"]
    assert (await client.get(f"{PATH}/bulk/{job}")).json()["options"] == {"from": "rest"}


async def test_jobs_are_listed_where_they_were_ordered(client: Client) -> None:
    order = {"action": "dismiss", "filter": {"status": "open"}}
    letters = (await client.post("/api/dead-letters/bulk", json=order)).json()["jobId"]
    order = {"action": "pause", "ids": ["nobody"]}
    executions = (await client.post(f"{PATH}/bulk", json=order)).json()["jobId"]
    assert [job["id"] for job in (await client.get("/api/dead-letters/bulk")).json()["items"]] == [letters]
    assert [job["id"] for job in (await client.get(f"{PATH}/bulk")).json()["items"]] == [executions]
    one = (await client.get(f"/api/dead-letters/bulk/{letters}")).json()
    assert (one["target"], one["total"]) == ("dead_letter", 0)
    items = await client.get(f"/api/dead-letters/bulk/{letters}/items")
    assert items.json()["items"] == []


async def test_a_workflow_is_named_once(client: Client) -> None:
    identity = await save(client, workflow(REST))
    refused = await client.post("/api/workflow/execute", json={"workflowId": identity, "key": "another"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/key")
    assert (
        await client.post("/api/workflow/execute", json={"workflowId": "w", "key": "w"})
    ).status_code == 202


async def test_a_key_that_cannot_be_computed_is_the_callers_mistake(client: Client) -> None:
    document = workflow(REST)
    document["workflow"]["concurrency"] = {"limit": 1, "key": "#{1 / n}"}
    await save(client, document)
    refused = await client.post("/api/workflow/execute", json={"key": "w", "context": {"n": 0}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["code"] == "BAD_CONCURRENCY_KEY"


@pytest.mark.parametrize(
    ("config", "pointer"),
    [
        ({"url": "https://a b/"}, "/url"),
        ({"url": "https://user:secret@example.com/"}, "/url"),
        ({"url": "https://example.com:99999/"}, "/url"),
        ({"url": "https://example.com/", "schema": {"type": "nothing"}}, "/schema"),
        ({"url": "https://example.com/", "schema": {"$ref": "#/$defs/none"}}, "/schema"),
    ],
)
async def test_a_call_that_cannot_work_is_found_when_it_is_written(
    client: Client, config: dict[str, Any], pointer: str
) -> None:
    document = workflow({"id": "call", "type": "REST_SYNC", "config": config})
    found = (await client.post("/api/workflow/validate", json=document)).json()
    assert [problem["pointer"] for problem in found["errors"]] == [f"/workflow/nodes/0/config{pointer}"]
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("q=%20", "`q` must hold more than spaces."),
        ("from=yesterday", "`from` must be a time such as 2026-03-01T12:00:00Z."),
    ],
)
async def test_what_is_looked_for_wrongly_is_said_in_words(client: Client, query: str, told: str) -> None:
    refused = await client.get(f"{PATH}?{query}")
    assert (refused.status_code, told in refused.text) == (400, True)
