"""PostgreSQL goes away under a running instance, and comes back."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from polling import until
from stand_ins.http_site import Asked, Reply, site
from torture.instances import MusterProcess
from torture.nursery import Nursery
from torture.own_postgres import IMMEDIATE, own_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SETTINGS = {"MUSTER_HTTP_ALLOWED_NETWORKS": "127.0.0.0/8", "MUSTER_LOG_FORMAT": "json"}


async def test_while_the_database_is_away_callers_are_told_and_what_ran_goes_on_afterwards(
    tmp_path: Path,
) -> None:
    called, go_on = asyncio.Event(), asyncio.Event()

    async def answer(asked: Asked) -> Reply:
        called.set()
        await go_on.wait()
        return Reply(200)

    nursery = Nursery()
    with own_postgres() as postgres:
        async with site(answer) as web, httpx.AsyncClient(timeout=60) as client:
            instance = MusterProcess("one", nursery, tmp_path, {"DB_URL": postgres.url, **SETTINGS})
            try:
                instance.start()
                await instance.ready()
                await _outlive_an_outage(instance, client, web.url("/"), called, go_on, postgres)
                _judge_log([json.loads(line) for line in instance.log.read_text().splitlines()])
                postgres.stop(IMMEDIATE)
                assert await instance.end() == 0, "it ends when told to, database or not"
                assert "Traceback" not in instance.log.read_text()
            finally:
                instance.kill()
                nursery.close()


async def _outlive_an_outage(instance, client, url, called, go_on, postgres) -> None:
    call = {"id": "call", "type": "REST_SYNC", "config": {"url": url}}
    document = {"workflow": {"key": "call", "name": "Call", "nodes": [call]}}
    assert (await client.post(f"{instance.url}/api/workflow", json=document)).status_code == 201
    begun = await client.post(f"{instance.url}/api/workflow/execute", json={"key": "call"})
    await called.wait()

    postgres.stop(IMMEDIATE)
    go_on.set()
    for _ in range(10):
        ready = await client.get(f"{instance.url}/health/ready")
        assert (ready.status_code, ready.json()["components"]["database"]["status"]) == (503, "DOWN")
        for refused in (
            await client.post(f"{instance.url}/api/workflow/execute", json={"key": "call"}),
            await client.get(f"{instance.url}/api/workflow"),
        ):
            assert refused.status_code == 503
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.json()["code"] == "UNAVAILABLE"
            assert refused.headers["retry-after"]
    assert (await client.get(f"{instance.url}/health/live")).status_code == 200

    postgres.start()
    path = f"{instance.url}/api/workflow/executions/{begun.json()['executionId']}"
    await _until(client, path, "COMPLETED")
    await _until(client, f"{instance.url}/health/ready", "UP")
    assert instance.starts == 1
    assert instance.is_up
    # The line about its end comes when it has been quiet for a while.
    await until(lambda: _is_told(instance))


async def _is_told(instance: MusterProcess) -> bool:
    return "database is back" in instance.log.read_text()


async def _until(client: httpx.AsyncClient, url: str, status: str) -> None:
    async def has_come() -> bool:
        return (await client.get(url)).json().get("status") == status

    await until(has_come, every=0.1)


def _judge_log(lines: list[dict[str, object]]) -> None:
    told = [line for line in lines if line["event"] != "request"]
    assert [line["event"] for line in told] == [
        "migrated",
        "serving",
        "database unavailable",
        "database is back",
    ]
    assert not [line for line in lines if "Traceback" in str(line)]
