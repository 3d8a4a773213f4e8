"""What nobody can run here fails with a reason, and takes nobody down."""

import pytest

from api_for_tests import Client

TRIED = [
    {"id": "a", "type": "EXTERNAL_TASK", "config": {"topic": "t"}},
]


@pytest.mark.parametrize("node", TRIED, ids=lambda node: str(node["type"]))
async def test_a_node_that_cannot_be_run_here_fails_with_a_reason(
    client: Client, node: dict[str, object]
) -> None:
    document = {"workflow": {"name": "Early", "key": "early", "nodes": [node]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    answer = (await client.post("/api/workflow/execute?wait=60", json={"key": "early"})).json()
    assert (answer["status"], answer["error"]["type"]) == ("FAILED", "NotAvailable")


async def test_a_compensation_that_cannot_be_run_here_is_said_in_the_error(client: Client) -> None:
    undo = {"type": "SUB_WORKFLOW", "config": {"workflow": "undo"}}
    nodes = [
        {"id": "a", "type": "SEND_EMAIL", "config": {"to": "a@example.org", "subject": "s", "body": "b"}},
        {"id": "f", "type": "FAIL", "config": {"message": "boom"}},
    ]
    nodes[0]["compensate"] = undo
    document = {"workflow": {"name": "Undo", "key": "undoing", "nodes": nodes}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    answer = (await client.post("/api/workflow/execute?wait=60", json={"key": "undoing"})).json()
    assert answer["status"] == "FAILED"
    assert "boom" in answer["error"]["message"]
    assert "undoing a failed" in answer["error"]["message"]
