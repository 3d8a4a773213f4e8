"""A node in doubt over HTTP: shown as a wait, answered by a person."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from api_for_tests import Client
from scenario.test_executions_api import save, until


@pytest.fixture
async def silent() -> AsyncIterator[tuple[int, list[int]]]:
    """A server that takes calls and ends them without an answer: its port, and one entry for each call."""
    calls: list[int] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        calls.append(len(calls))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], calls


def paying(port: int) -> dict[str, Any]:
    pay = {
        "id": "pay",
        "type": "REST_SYNC",
        "inDoubt": "ask",
        "config": {"url": f"http://127.0.0.1:{port}/pay", "method": "POST"},
        "routing": [{"type": "goto", "targetNodeId": "thank"}],
    }
    thank = {
        "id": "thank",
        "type": "TRANSFORM",
        "config": {"transformations": [{"field": "thanks", "expression": "#{receipt}"}]},
    }
    return {"workflow": {"key": "pay", "name": "Pay", "nodes": [pay, thank]}}


async def test_a_call_that_nobody_answered_is_asked_about(
    client: Client, silent: tuple[int, list[int]]
) -> None:
    port, calls = silent
    await save(client, paying(port))
    started = await client.post("/api/workflow/execute", json={"key": "pay"})
    execution = started.json()["executionId"]
    whole = await until(client, execution, "WAITING")
    assert [(wait["nodeId"], wait["kind"]) for wait in whole["waits"]] == [("pay", "doubt")]
    [node] = whole["nodes"]
    assert (node["status"], node["error"]["type"]) == ("waiting_for_task", "InDoubt")
    assert len(calls) == 1, "it is not tried again unasked"
    path = f"/api/workflow/executions/{execution}/resume"
    for body, status in (
        ({"node": "pay"}, 422),
        ({"outcome": "done"}, 422),
        ({"node": "pay", "outcome": "perhaps"}, 422),
        ({"node": "pay", "outcome": "redo", "output": 1}, 422),
        ({"node": "thank", "outcome": "done"}, 409),
        ({"node": "pay", "visit": 2, "outcome": "done"}, 409),
    ):
        assert (await client.post(path, json=body)).status_code == status, body
    answer = {"node": "pay", "outcome": "done", "output": {"receipt": "R-7"}, "reason": "the bank says so"}
    assert (await client.post(path, json=answer)).status_code == 200
    whole = await until(client, execution, "COMPLETED")
    assert whole["context"]["thanks"] == "R-7"
    assert len(calls) == 1
    assert (await client.post(path, json=answer)).status_code == 409
    audit = (await client.get(f"/api/audit?entityType=execution&entityId={execution}")).json()["items"]
    assert [(entry["action"], entry["details"]["reason"]) for entry in audit] == [
        ("decide", "the bank says so")
    ]
