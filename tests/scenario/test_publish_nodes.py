"""KAFKA_PUBLISH: what it publishes is on the bus once, on the embedded one and on Kafka."""

from typing import Any

import pytest

from api_for_tests import Client
from muster.app.build import House
from polling import until


@pytest.fixture
def house(house_on_a_bus: House) -> House:
    return house_on_a_bus


async def run(client: Client, config: dict[str, Any], **context: Any) -> dict[str, Any]:
    """The execution of a workflow that publishes so, once it has ended."""
    node = {"id": "tell", "type": "KAFKA_PUBLISH", "config": config}
    saved = await client.post("/api/workflow", json={"workflow": {"name": "w", "key": "w", "nodes": [node]}})
    assert saved.status_code == 201, saved.text
    body = {"workflowId": "w", "context": context}
    started = await client.post("/api/workflow/execute?wait=60", json=body)
    path = f"/api/workflow/executions/{started.json()['executionId']}"
    visits = (await client.get(f"{path}/nodes?node=tell")).json()["items"]
    [told] = [visit for visit in visits if not visit.get("itemKey")]
    return {**(await client.get(path)).json(), "told": told["output"]}


async def listening(client: Client, topic: str) -> None:
    """A workflow that is started by every message of the topic."""
    noop = {"name": "heard", "key": "heard", "nodes": [{"id": "n", "type": "NOOP", "config": {}}]}
    await client.post("/api/workflow", json={"workflow": noop})
    trigger = {"workflowId": "heard", "type": "event", "topic": topic}
    made = await client.post("/api/workflow/triggers", json=trigger)
    assert made.status_code == 201, made.text


async def heard(client: Client, count: int) -> list[dict[str, Any]]:
    """The contexts of what messages have started, once there are so many."""

    async def found() -> list[dict[str, Any]]:
        rows = (await client.get("/api/workflow/executions?workflow=heard&limit=200")).json()["items"]
        return rows if len(rows) >= count else []

    rows = await until(found, every=0.1)
    whole = [(await client.get(f"/api/workflow/executions/{row['id']}")).json() for row in rows]
    return [each["context"] for each in whole]


async def outbox(client: Client, status: str, count: int) -> list[dict[str, Any]]:
    async def found() -> list[dict[str, Any]]:
        rows = (await client.get(f"/api/outbox?status={status}")).json()["items"]
        return rows if len(rows) >= count else []

    return await until(found, every=0.1)


async def test_a_message_is_published_with_its_key_and_headers(client: Client, topic: str) -> None:
    await listening(client, topic)
    config = {
        "topic": topic,
        "key": "#{orderId}",
        "headers": {"X-Kind": "#{kind}", "X-Tries": 3},
        "payload": {"orderId": "#{orderId}", "total": 12.5},
    }
    done = await run(client, config, orderId="o-1", kind="placed")
    assert done["status"] == "COMPLETED"
    [context] = await heard(client, 1)
    assert (context["orderId"], context["total"]) == ("o-1", 12.5)
    [entry] = await outbox(client, "published", 1)
    assert entry["messageId"] == done["told"]["messageId"]
    assert (entry["topic"], entry["key"], entry["size"]) == (topic, "o-1", 30)
    assert (await client.get("/api/outbox?status=pending")).json()["items"] == []
    streams = (await client.get("/api/outbox/streams")).json()["items"]
    assert {each["stream"]: each["pending"] for each in streams} == {"executions": 0, "watch": 0}


async def test_a_list_publishes_each_item_once(client: Client, topic: str) -> None:
    await listening(client, topic)
    config = {"topic": topic, "on": "#{numbers}", "forEach": {"payload": {"number": "#{item}"}}}
    done = await run(client, config, numbers=list(range(25)))
    assert done["told"]["succeeded"] == 25
    assert sorted(context["number"] for context in await heard(client, 25)) == list(range(25))
    assert len({entry["messageId"] for entry in await outbox(client, "published", 25)}) == 25
