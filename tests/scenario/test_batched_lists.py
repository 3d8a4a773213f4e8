"""A list through an action in SQL, from the workflow to the journal: batches, and yet each item its own."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.app.build import opened
from muster.app.settings import Settings

COUNT = 1_200


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute(
            "CREATE TABLE kept (id INTEGER PRIMARY KEY CHECK (id <> 700 OR allowed), allowed INTEGER)"
        )
    shop.close()
    async with (
        opened(Settings.model_validate({"data_dir": str(tmp_path)})) as house,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1:8080", timeout=60
        ) as found,
    ):
        await found.post("/api/data-sources", json={"key": "shop", "url": "sqlite:///shop.db"})
        sql = "INSERT INTO kept VALUES (:id, :allowed)"
        made = await found.post("/api/actions", json={"key": "keep", "dataSource": "shop", "sql": sql})
        assert made.status_code == 201, made.text
        yield found


async def run(client: httpx.AsyncClient, path: str, body: object) -> dict[str, Any]:
    started = await client.post(path, json=body)
    assert started.status_code < 300, started.text
    identity = started.json().get("executionId") or started.json()["id"]
    while True:
        found: dict[str, Any] = (await client.get(f"/api/workflow/executions/{identity}")).json()
        if found["status"] in ("COMPLETED", "FAILED"):
            return found


async def test_items_are_journaled_by_their_keys_and_a_retry_repeats_only_what_failed(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    node = {
        "id": "keep",
        "type": "ACTION",
        "itemKey": "order-#{item.id}",
        "config": {"actionType": "keep", "on": "#{orders}", "params": {"allowed": "#{allowed}"}},
    }
    await client.post(
        "/api/workflow", json={"workflow": {"id": "keeping", "name": "Keeping", "nodes": [node]}}
    )
    orders = [{"id": number} for number in range(COUNT)]
    body = {"key": "keeping", "context": {"orders": orders, "allowed": False}}
    failed = await run(client, "/api/workflow/execute", body)
    output = failed["nodes"][0]["output"]
    assert (failed["status"], output["total"], output["succeeded"], output["failed"]) == (
        "FAILED",
        COUNT,
        COUNT - 1,
        1,
    )
    assert [error["item"] for error in output["errors"]] == ["order-700"]
    rows = sqlite3.connect(tmp_path / "shop.db")
    assert rows.execute("SELECT count(*), max(id) FROM kept").fetchone() == (COUNT - 1, COUNT - 1)
    # Were the others done again, their primary keys would be in the way.
    again = {"reason": "mended", "context": {"allowed": True}}
    path = f"/api/workflow/executions/{failed['id']}/retry"
    mended = await run(client, path, again)
    assert mended["status"] == "COMPLETED", mended["error"]
    assert mended["nodes"][0]["output"]["succeeded"] == COUNT
    assert rows.execute("SELECT count(*) FROM kept").fetchone() == (COUNT,)
    rows.close()
