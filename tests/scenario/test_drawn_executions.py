"""Diagrams of executions: how each node fares, in every format."""

from typing import Any

import pytest

import polling
from api_for_tests import Client
from scenario.test_executions_api import show, until

DOCUMENT = {
    "workflow": {
        "key": "drawn",
        "name": "Drawn",
        "nodes": [
            {"id": "first", "type": "NOOP", "config": {}},
            {"id": "rest", "type": "delay", "config": {"duration": 1, "unit": "hours"}},
            {"id": "last", "type": "NOOP", "config": {}},
        ],
    }
}
PATH = "/api/workflow/visualize/drawn"


@pytest.fixture
async def execution(client: Client) -> str:
    await client.post("/api/workflow", json=DOCUMENT)
    answer = await client.post("/api/workflow/execute", json={"key": "drawn"})
    identity: str = answer.json()["executionId"]
    await until(client, identity, "PAUSED")
    return identity


async def test_a_diagram_carries_each_nodes_status_duration_and_wait(client: Client, execution: str) -> None:
    drawn = (await client.get(f"{PATH}?execution={execution}")).json()
    states: dict[str, Any] = {node["id"]: node.get("execution") for node in drawn["nodes"]}
    assert states["first"]["status"] == "completed"
    assert states["first"]["seconds"] >= 0
    assert states["rest"]["status"] == "paused"
    assert states["rest"]["waitsUntil"] is not None
    assert states["last"] is None


@pytest.mark.parametrize(
    ("form", "sign"),
    [
        ("mermaid", "style n1 stroke:#c27a12"),
        ("dot", 'color="#2f8f4e"'),
        ("svg", "paused until 20"),
    ],
)
async def test_pictures_show_it_too(client: Client, execution: str, form: str, sign: str) -> None:
    drawn = await client.get(f"{PATH}?execution={execution}&format={form}")
    assert drawn.status_code == 200
    assert sign in drawn.text
    plain = await client.get(f"{PATH}?format={form}")
    assert sign not in plain.text


async def test_it_is_drawn_on_the_version_that_it_runs_on(client: Client, execution: str) -> None:
    changed = {"workflow": {**DOCUMENT["workflow"], "nodes": [{"id": "other", "type": "NOOP", "config": {}}]}}
    assert (await client.put("/api/workflow/drawn?activate=true", json=changed)).status_code == 200
    drawn = (await client.get(f"{PATH}?execution={execution}")).json()
    assert [node["id"] for node in drawn["nodes"]] == ["first", "rest", "last"]


async def test_another_workflows_execution_is_not_drawn_on_this_one(client: Client, execution: str) -> None:
    other = {"workflow": {**DOCUMENT["workflow"], "key": "other"}}
    await client.post("/api/workflow", json=other)
    for path in (
        f"/api/workflow/visualize/other?execution={execution}",
        f"{PATH}?execution=00000000-0000-7000-8000-000000000000",
    ):
        assert (await client.get(path)).status_code == 404


async def test_what_runs_is_among_an_executions_nodes(client: Client) -> None:
    # Nobody listens there, and each attempt is given its time: the node is under way, or about to be again.
    call = {"url": "http://127.0.0.1:9/", "timeout": 5}
    node = {"id": "call", "type": "REST_SYNC", "config": call, "retry": {"maxAttempts": 2}}
    await client.post("/api/workflow", json={"workflow": {"key": "calls", "name": "Calls", "nodes": [node]}})
    started = (await client.post("/api/workflow/execute", json={"key": "calls"})).json()

    async def begun() -> dict[str, Any] | None:
        found = await show(client, started["executionId"])
        return found if found["nodes"] else None

    whole = await polling.until(begun)
    assert [row["nodeId"] for row in whole["nodes"]] == ["call"]
    assert whole["nodes"][0]["status"] in ("running", "retrying", "failed")
    assert whole["moreNodes"] is False
