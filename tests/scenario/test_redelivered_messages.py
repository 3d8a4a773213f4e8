"""Messages that are delivered again, as after a crash before their position was recorded."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.store.open import FILE_NAME
from polling import until

NOOP = {"id": "echo", "type": "NOOP", "config": {}}


def calling(house: House) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1")


async def numbers(client: httpx.AsyncClient) -> list[int]:
    items: list[dict[str, Any]] = (await client.get("/api/workflow/executions?limit=200")).json()["items"]
    whole = [(await client.get(f"/api/workflow/executions/{item['id']}")).json() for item in items]
    return sorted(each["context"]["n"] for each in whole)


async def test_a_message_that_comes_again_starts_nothing_again(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": str(tmp_path)})

    async def publish(client: httpx.AsyncClient, *sent: int) -> None:
        body = [{"key": "k", "value": {"n": each}} for each in sent]
        assert (await client.post("/api/messages/orders", json=body)).status_code == 202

    async with opened(settings) as house, calling(house) as client:
        document = {"workflow": {"name": "orders", "key": "orders", "nodes": [NOOP]}}
        assert (await client.post("/api/workflow", json=document)).status_code == 201
        trigger = {"workflowId": "orders", "type": "event", "topic": "orders"}
        assert (await client.post("/api/workflow/triggers", json=trigger)).status_code == 201
        await publish(client, 1, 2, 3)

        async def all_started() -> bool:
            return await numbers(client) == [1, 2, 3]

        await until(all_started, every=0.1)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        file.execute("UPDATE bus_position SET position = 0 WHERE group_id <> ''")
        file.commit()
    async with opened(settings) as house, calling(house) as client:
        await publish(client, 4)  # it comes after all that is delivered again

        async def last_started() -> bool:
            return 4 in await numbers(client)

        await until(last_started, every=0.1)
        assert await numbers(client) == [1, 2, 3, 4]


async def test_a_message_that_comes_again_changes_nothing_for_those_who_wait(tmp_path: Path) -> None:
    """What a wait takes, and how far the bus is read, are two transactions: a crash may come between."""
    settings = Settings.model_validate({"data_dir": str(tmp_path)})
    keyed = {"topic": "paid", "correlationIdField": "order", "correlation": "#{order}"}
    events = {"ids": {"topic": "answers"}, "keys": keyed}

    async def start(client: httpx.AsyncClient, key: str) -> str:
        body = {"key": key, "context": {"order": "o-1"}}
        return str((await client.post("/api/workflow/execute", json=body)).json()["executionId"])

    async def comes_to(client: httpx.AsyncClient, execution: str, status: str) -> Any:
        async def found() -> Any:
            whole = (await client.get(f"/api/workflow/executions/{execution}")).json()
            return whole if whole["status"] == status else None

        return await until(found, every=0.1)

    async with opened(settings) as house, calling(house) as client:
        for key, event in events.items():
            node = {"id": "w", "type": "wait_events", "config": {"kafkaEvent": event}}
            document = {"workflow": {"key": key, "name": key, "nodes": [node]}}
            assert (await client.post("/api/workflow", json=document)).status_code == 201
        executions = [await start(client, key) for key in events]
        wait = (await comes_to(client, executions[0], "WAITING"))["waits"][0]
        await comes_to(client, executions[1], "WAITING")
        ids = {"execution_id": executions[0], "correlation_id": wait["correlationId"]}
        await client.post("/api/messages/answers", json=[{"value": ids}, {"value": 7}])
        await client.post("/api/messages/paid", json={"value": {"order": "o-1"}})
        ended = [await comes_to(client, each, "COMPLETED") for each in executions]
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        file.execute("UPDATE bus_position SET position = 0 WHERE group_id <> ''")
        file.commit()
    async with opened(settings) as house, calling(house) as client:
        another = await start(client, "keys")
        await comes_to(client, another, "WAITING")

        async def has_come_again() -> Any:
            return (await client.get("/api/near-misses")).json()["items"]

        [missed] = await until(has_come_again, every=0.1)
        assert missed["reason"] == "DUPLICATE", "all that is new: it is told that it came twice"
        await client.post("/api/messages/paid", json={"value": {"order": "o-1", "n": 2}})
        met = await comes_to(client, another, "COMPLETED")
        assert met["context"]["kafka_event"]["n"] == 2, "the first was another's"
        whole = [(await client.get(f"/api/workflow/executions/{each}")).json() for each in executions]
        assert [each["completedAt"] for each in whole] == [each["completedAt"] for each in ended]
