"""Executions over HTTP: started, watched, paused, cancelled, tried again."""

from typing import Any

import pytest

import polling
from api_for_tests import Client

HELLO = {
    "workflow": {
        "key": "hello",
        "name": "Hello",
        "nodes": [
            {
                "id": "greet",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "greeting", "expression": "#{'Hello, ' + name}"}]},
            }
        ],
    }
}


def resting(seconds: float) -> dict[str, Any]:
    rest = {"id": "rest", "type": "delay", "config": {"duration": seconds, "unit": "seconds"}}
    return {"workflow": {"key": "rest", "name": "Rest", "nodes": [rest]}}


def failing() -> dict[str, Any]:
    check = {
        "id": "check",
        "type": "NOOP",
        "config": {},
        "routing": [
            {
                "type": "conditional",
                "condition": "#{good}",
                "trueNodeId": "fine",
                "falseNodeId": "stop",
            }
        ],
    }
    fine = {"id": "fine", "type": "NOOP", "config": {}}
    stop = {"id": "stop", "type": "FAIL", "config": {"message": "not good: #{why}"}}
    return {"workflow": {"key": "strict", "name": "Strict", "nodes": [check, fine, stop]}}


async def save(client: Client, document: dict[str, Any]) -> str:
    answer = await client.post("/api/workflow", json=document)
    assert answer.status_code == 201, answer.text
    identity: str = answer.json()["id"]
    return identity


async def run(client: Client, key: str, context: dict[str, Any], wait: float = 60) -> dict[str, Any]:
    body = {"key": key, "context": context}
    answer = await client.post(f"/api/workflow/execute?wait={wait}", json=body)
    assert answer.status_code in (200, 202), answer.text
    result: dict[str, Any] = answer.json()
    return result


async def show(client: Client, execution: str) -> dict[str, Any]:
    answer = await client.get(f"/api/workflow/executions/{execution}")
    assert answer.status_code == 200
    whole: dict[str, Any] = answer.json()
    return whole


async def until(client: Client, execution: str, status: str) -> dict[str, Any]:
    async def whole() -> dict[str, Any] | None:
        found = await show(client, execution)
        return found if found["status"] == status else None

    return await polling.until(whole)


async def test_an_execution_is_started_and_its_result_waited_for(client: Client) -> None:
    await save(client, HELLO)
    result = await run(client, "hello", {"name": "Ada"})
    assert result["status"] == "COMPLETED"
    whole = await show(client, result["executionId"])
    assert whole["context"]["greeting"] == "Hello, Ada"
    assert whole["trackingStatus"] == "COMPLETED"
    assert [(node["nodeId"], node["type"], node["status"]) for node in whole["nodes"]] == [
        ("greet", "TRANSFORM", "completed")
    ]


async def test_a_node_that_passed_something_over_says_so(client: Client) -> None:
    switch = {"on": "#{item.kind}", "cases": {"A": {"to": "a"}}, "items": "#{things}"}
    sort = {
        "id": "sort",
        "type": "DATA_PROCESSOR",
        "config": {"dataProcessorType": "SWITCH", "config": switch},
    }
    await save(client, {"workflow": {"key": "sort", "name": "Sort", "nodes": [sort]}})
    result = await run(client, "sort", {"things": [{"kind": "A"}, {"kind": "B"}]})
    whole = await show(client, result["executionId"])
    assert len(whole["nodes"][0]["warnings"]) == 1


async def test_starting_without_waiting_answers_at_once(client: Client) -> None:
    identity = await save(client, HELLO)
    answer = await client.post(
        "/api/workflow/execute", json={"workflowId": identity, "context": {"name": "B"}}
    )
    assert answer.status_code == 202
    await until(client, answer.json()["executionId"], "COMPLETED")


async def test_waiting_is_over_when_its_time_is(client: Client) -> None:
    await save(client, resting(3600))
    result = await run(client, "rest", {}, wait=0.2)
    assert result["status"] in ("RUNNING", "PAUSED")
    whole = await until(client, result["executionId"], "PAUSED")
    assert whole["trackingStatus"] == "PROCESSING"
    assert whole["waits"][0]["nodeId"] == "rest"


async def test_a_short_rest_ends_by_itself(client: Client) -> None:
    await save(client, resting(1.1))
    result = await run(client, "rest", {}, wait=0.1)
    await until(client, result["executionId"], "COMPLETED")


async def test_a_failure_says_which_node_and_why_and_is_retried_with_a_patch(client: Client) -> None:
    await save(client, failing())
    result = await run(client, "strict", {"good": False, "why": "too late"})
    assert result["status"] == "FAILED"
    assert result["error"] == {"type": "Failed", "message": "not good: too late", "nodeId": "stop"}
    execution = result["executionId"]
    path = f"/api/workflow/executions/{execution}/retry"
    body = {"reason": "mended", "node": "check", "context": {"good": True}}
    assert (await client.post(path, json=body)).status_code == 200
    whole = await until(client, execution, "COMPLETED")
    assert [node["nodeId"] for node in whole["nodes"]] == ["check", "stop", "check", "fine"]
    refused = await client.post(path, json={"reason": "again"})
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")


async def test_an_execution_is_paused_resumed_and_cancelled_by_hand(client: Client) -> None:
    await save(client, resting(3600))
    execution = (await run(client, "rest", {}, wait=0.1))["executionId"]
    path = f"/api/workflow/executions/{execution}"
    for action in ("pause", "resume"):
        assert (await client.post(f"{path}/{action}", json={"reason": "by hand"})).status_code == 200
    assert (await client.post(f"{path}/cancel", json={"reason": "no longer"})).status_code == 200
    whole = await until(client, execution, "CANCELLED")
    assert whole["error"]["message"] == "no longer"
    assert (await client.post(f"{path}/pause")).status_code == 409


async def test_what_is_paused_by_hand_says_so(client: Client) -> None:
    await save(client, resting(3600))
    execution = (await run(client, "rest", {}, wait=0.1))["executionId"]
    path = f"/api/workflow/executions/{execution}"
    assert (await until(client, execution, "PAUSED"))["held"] is False
    for action, held in (("pause", True), ("resume", False)):
        await client.post(f"{path}/{action}", json={"reason": "by hand"})

        async def took_effect(held: bool = held) -> bool:
            return (await client.get(path)).json()["held"] is held

        await polling.until(took_effect)
        [wait] = (await client.get(path)).json()["waits"]
        assert (wait["explanation"] or "").startswith("It was paused by hand") is held


async def test_a_replay_is_a_new_execution_with_what_the_first_was_given(client: Client) -> None:
    await save(client, HELLO)
    first = (await run(client, "hello", {"name": "Ada"}))["executionId"]
    answer = await client.post(f"/api/workflow/executions/{first}/replay", json={"reason": "once more"})
    assert answer.status_code == 202
    second = await until(client, answer.json()["executionId"], "COMPLETED")
    assert second["id"] != first
    assert second["context"]["greeting"] == "Hello, Ada"


async def test_executions_are_listed_newest_first_and_filtered(client: Client) -> None:
    await save(client, HELLO)
    await save(client, failing())
    ids = [(await run(client, "hello", {"name": name}))["executionId"] for name in "abc"]
    await run(client, "strict", {"good": False, "why": "x"})
    listed = (await client.get("/api/workflow/executions?workflow=hello&limit=2")).json()
    assert [row["id"] for row in listed["items"]] == [ids[2], ids[1]]
    rest = await client.get(f"/api/workflow/executions?workflow=hello&limit=2&cursor={listed['nextCursor']}")
    assert [row["id"] for row in rest.json()["items"]] == [ids[0]]
    failed = (await client.get("/api/workflow/executions?status=FAILED")).json()
    assert [row["key"] for row in failed["items"]] == ["strict"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"key": "nowhere"}, 404),
        ({}, 422),
        ({"key": "hello", "version": 7}, 404),
        ({"key": "hello", "colour": "red"}, 422),
    ],
)
async def test_what_cannot_be_started_is_refused(client: Client, body: dict[str, Any], status: int) -> None:
    await save(client, HELLO)
    answer = await client.post("/api/workflow/execute", json=body)
    assert answer.status_code == status


async def test_a_draft_is_not_started_until_it_is_activated(client: Client) -> None:
    document = {"workflow": {**HELLO["workflow"], "status": "DRAFT"}}
    identity = await save(client, document)
    refused = await client.post("/api/workflow/execute", json={"key": "hello"})
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    await client.post(f"/api/workflow/{identity}/activate")
    assert (await run(client, "hello", {"name": "A"}))["status"] == "COMPLETED"


async def test_a_workflow_that_is_inactive_is_not_started(client: Client) -> None:
    document = {"workflow": {"name": "Asleep", "key": "asleep", "nodes": [{"id": "a", "type": "NOOP"}]}}
    document["workflow"]["status"] = "INACTIVE"
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    answer = await client.post("/api/workflow/execute", json={"key": "asleep"})
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")


async def test_what_muster_puts_into_a_context_cannot_be_given_otherwise(client: Client) -> None:
    document = {"workflow": {"name": "Plain", "key": "plain", "nodes": [{"id": "a", "type": "NOOP"}]}}
    saved = (await client.post("/api/workflow", json=document)).json()
    given = {"workflowId": "another", "instituteId": "mine"}
    answer = await client.post("/api/workflow/execute?wait=60", json={"key": "plain", "context": given})
    output = answer.json()["output"]
    # Where there are no institutes, the name is anybody's.
    assert (output["workflowId"], output["instituteId"]) == (saved["id"], "mine")
