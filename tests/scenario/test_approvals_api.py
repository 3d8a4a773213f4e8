"""Approvals and sub-workflows over HTTP."""

from typing import Any

from api_for_tests import Client
from scenario.test_executions_api import until


def workflow(key: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    return {"workflow": {"key": key, "name": key, "nodes": list(nodes)}}


ASK = {
    "id": "ok",
    "type": "APPROVAL",
    "config": {
        "title": "Pay?",
        "assignees": ["finance"],
        "form": {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}},
    },
}


async def start(client: Client, key: str, wait: float = 0) -> dict[str, Any]:
    answer = await client.post(f"/api/workflow/execute?wait={wait}", json={"key": key, "context": {}})
    assert answer.status_code in (200, 202), answer.text
    result: dict[str, Any] = answer.json()
    return result


async def test_an_approval_is_listed_read_and_decided_once(client: Client) -> None:
    await client.post("/api/workflow", json=workflow("pay", ASK))
    execution = (await start(client, "pay"))["executionId"]
    seen = await until(client, execution, "WAITING")
    [wait] = seen["waits"]
    assert (wait["kind"], wait["nodeId"]) == ("approval", "ok")
    listed = (await client.get("/api/approvals", params={"status": "OPEN", "assignee": "finance"})).json()
    [approval] = listed["items"]
    assert approval["id"] == wait["id"] == wait["correlationId"]
    assert (await client.get(f"/api/approvals/{approval['id']}")).json()["title"] == "Pay?"
    decide = f"/api/approvals/{approval['id']}/decide"
    bad = await client.post(decide, json={"decision": "approve", "form": {"amount": "x"}})
    assert (bad.status_code, bad.json()["errors"][0]["pointer"]) == (422, "/form/amount")
    assert (await client.post(decide, json={"form": {}})).status_code == 422
    both = await client.post(decide, json={"decision": "reject", "approved": True})
    assert both.json()["errors"][0]["pointer"] == "/approved"
    good = await client.post(decide, json={"approved": True, "form": {"amount": 5}, "reason": "fine"})
    assert (good.status_code, good.json()["status"]) == (200, "APPROVED")
    again = await client.post(decide, json={"decision": "reject"})
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    audits = (await client.get(f"/api/audit?entityType=approval&entityId={approval['id']}")).json()
    assert [each["action"] for each in audits["items"]] == ["decide"]
    ended = await until(client, execution, "COMPLETED")
    assert ended["context"]["decision"] == "approve"


async def test_an_approval_that_is_not_there(client: Client) -> None:
    assert (await client.get("/api/approvals/none")).status_code == 404
    answer = await client.post("/api/approvals/none/decide", json={"decision": "approve"})
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


async def test_a_child_names_its_parent(client: Client) -> None:
    say = {"id": "say", "type": "NOOP", "config": {}}
    call = {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child"}}
    await client.post("/api/workflow", json=workflow("child", say))
    await client.post("/api/workflow", json=workflow("parent", call))
    result = await start(client, "parent", 60)
    assert result["status"] == "COMPLETED"
    children = (await client.get("/api/workflow/executions?workflow=child")).json()["items"]
    assert [child["parentExecutionId"] for child in children] == [result["executionId"]]


async def test_what_is_beyond_its_limit_is_said_to_be_queued(client: Client) -> None:
    rest = {"id": "rest", "type": "delay", "config": {"duration": 3600}}
    document = workflow("narrow", rest)
    document["workflow"]["concurrency"] = {"limit": 1}
    await client.post("/api/workflow", json=document)
    started = [await client.post("/api/workflow/execute", json={"key": "narrow"}) for _ in range(2)]
    assert [answer.json()["status"] for answer in started] == ["RUNNING", "QUEUED"]
    queued = started[1].json()["executionId"]
    cancelled = await client.post(f"/api/workflow/executions/{queued}/cancel")
    assert cancelled.json()["status"] == "CANCELLED"
