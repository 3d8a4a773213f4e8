"""A workflow that Muster runs and watches: what callers see of its executions as runs."""

from typing import Any

from api_for_tests import Client
from polling import until

ORDERS: dict[str, Any] = {
    "workflow": {
        "key": "orders",
        "name": "Orders",
        "nodes": [
            {"id": "take", "type": "NOOP", "config": {}},
            {"id": "ship", "type": "APPROVAL", "config": {"assignees": ["ops"], "title": "Ship?"}},
        ],
        "routing": [
            {"type": "goto", "from": "take", "to": "ship", "maxLatencySec": 3600, "severity": "red"},
        ],
    }
}


async def test_an_execution_appears_on_the_wallboard_and_as_an_item(client: Client) -> None:
    saved = await client.post("/api/workflow", json=ORDERS)
    assert saved.status_code == 201, saved.text
    begun = await client.post("/api/workflow/execute", json={"key": "orders", "context": {}})
    execution = begun.json()["executionId"]

    async def item() -> dict[str, Any] | None:
        found = await client.get(f"/items/{execution}")
        return found.json() if found.status_code == 200 else None

    told = await until(item)
    assert (told["workflowKey"], told["status"], told["executionId"]) == ("orders", "green", execution)
    assert told["links"]["execution"] == f"/api/workflow/executions/{execution}"
    assert [event["node"] for event in told["events"]] == ["take"]
    assert [(each["toNode"], each["severity"]) for each in told["expectations"]] == [("ship", "red")]

    board = (await client.get("/wallboard")).json()
    [shown] = [each for each in board["workflows"] if each["key"] == "orders"]
    tiles = {tile["node"]: tile for tile in shown["groups"][0]["nodes"]}
    assert tiles["take"]["completed"] == 1
    assert tiles["ship"]["inFlight"] == 1
    assert tiles["ship"]["nextDueAt"] is not None

    counted = await client.get(f"/workflows/{told['workflowVersionId']}/aggregates")
    assert {(each["node"], each["inFlight"]) for each in counted.json()["items"]} == {
        ("take", 0),
        ("ship", 1),
    }


async def test_of_a_version_that_is_not_watched_nothing_is_counted(client: Client) -> None:
    plain = {"workflow": {"key": "plain", "name": "Plain", "nodes": ORDERS["workflow"]["nodes"][:1]}}
    assert (await client.post("/api/workflow", json=plain)).status_code == 201
    assert (await client.get("/workflows/1/aggregates")).status_code == 404
