"""What nobody can run here fails with a reason, and takes nobody down."""

from api_for_tests import Client


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
