"""Trying a failed execution again on a mended version."""

from typing import Any

from api_for_tests import Client
from scenario.test_executions_api import run, save, until


def greeting(expression: str, **more: Any) -> dict[str, Any]:
    greet = {
        "id": "greet",
        "type": "TRANSFORM",
        "config": {"transformations": [{"field": "greeting", "expression": expression}]},
    }
    first = {
        "id": "first",
        "type": "TRANSFORM",
        "config": {"transformations": [{"field": "count", "expression": "#{count + 1}"}]},
        "routing": [{"type": "goto", "targetNodeId": "greet"}],
    }
    nodes = more.get("nodes", [first, greet])
    return {"workflow": {"key": "greeting", "name": "Greeting", "nodes": nodes}}


async def test_it_goes_on_from_the_failing_node_on_the_version_that_mends_it(client: Client) -> None:
    identity = await save(client, greeting("#{1 / 0}"))
    failed = await run(client, "greeting", {"count": 0, "name": "Ada"})
    assert (failed["status"], failed["error"]["nodeId"]) == ("FAILED", "greet")
    mended = await client.put(f"/api/workflow/{identity}", json=greeting("#{'Hello, ' + name}"))
    assert mended.status_code == 200, mended.text
    path = f"/api/workflow/executions/{failed['executionId']}/retry"
    assert (await client.post(path, json={"version": 9})).status_code == 404
    assert (await client.post(path, json={"version": 2, "reason": "mended"})).status_code == 200
    whole = await until(client, failed["executionId"], "COMPLETED")
    assert (whole["version"], whole["context"]["greeting"], whole["context"]["count"]) == (2, "Hello, Ada", 1)
    audit = await client.get(f"/api/audit?entityType=execution&entityId={whole['id']}")
    assert audit.json()["items"][0]["details"]["version"] == 2


async def test_a_version_that_lacks_the_failing_node_is_refused(client: Client) -> None:
    identity = await save(client, greeting("#{1 / 0}"))
    failed = await run(client, "greeting", {"count": 0})
    other = greeting("", nodes=[{"id": "other", "type": "NOOP", "config": {}}])
    await client.put(f"/api/workflow/{identity}", json=other)
    path = f"/api/workflow/executions/{failed['executionId']}/retry"
    refused = await client.post(path, json={"version": 2})
    assert (refused.status_code, refused.json()["detail"]) == (409, "That version has no node greet.")
    assert (await client.post(path, json={"version": 2, "node": "other"})).status_code == 200
    await until(client, failed["executionId"], "COMPLETED")
