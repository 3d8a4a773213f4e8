"""Redis is flushed, frozen, killed and started again under a running instance, and becomes slow."""

import logging
import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from muster.app.build import opened
from muster.app.settings import Settings
from muster.engine import drive
from muster.kit import breaker
from own_redis import OwnRedis, own_redis
from polling import until
from soak.lines import Line, line_to

pytestmark = [pytest.mark.redis, pytest.mark.slow]

REST = {"id": "rest", "type": "delay", "config": {"duration": 1, "unit": "seconds"}}
END = {"id": "end", "type": "NOOP", "config": {}}
WORKFLOW = {"workflow": {"key": "rest", "name": "Rest", "nodes": [REST, END], "output": "#{n + 1}"}}
AT_ONCE = 20
# Less than anybody waits for an answer.
SLOW_SECONDS = 0.4


@pytest.fixture
def redis() -> Iterator[OwnRedis]:
    with own_redis() as found:
        yield found


@pytest.fixture
async def line(redis: OwnRedis) -> AsyncIterator[Line]:
    """How the instance reaches it."""
    async with line_to(redis.port) as found:
        yield found


@pytest.fixture
async def client(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setattr(drive, "SHORT_DELAY", timedelta(0))  # every delay is a durable timer
    monkeypatch.setattr(breaker, "LONGEST_PAUSE", 0.5)  # it is tried again soon
    url = f"redis://127.0.0.1:{line.port}/0"
    settings = Settings.model_validate({"data-dir": tmp_path, "redis": {"url": url}})
    async with opened(settings) as house:
        transport = httpx.ASGITransport(house.api)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as found:
            assert (await found.post("/api/workflow", json=WORKFLOW)).status_code == 201
            yield found


async def start_some(client: httpx.AsyncClient) -> list[str]:
    bodies = [{"key": "rest", "context": {"n": number}} for number in range(AT_ONCE)]
    begun = (await client.post("/api/workflow/execute/batch", json=bodies)).json()["results"]
    return [each["executionId"] for each in begun]


async def all_end_well(client: httpx.AsyncClient, executions: list[str]) -> None:
    for number, execution in enumerate(executions):

        async def has_ended(execution: str = execution) -> dict[str, object] | None:
            found = (await client.get(f"/api/workflow/executions/{execution}")).json()
            return found if found["completedAt"] else None

        found = await until(has_ended, every=0.05)
        assert (found["status"], found["output"]) == ("COMPLETED", number + 1)


async def metric(client: httpx.AsyncClient, name: str) -> float:
    found = re.search(rf"^muster_cache_{name} (\S+)$", (await client.get("/metrics")).text, re.MULTILINE)
    assert found, name
    return float(found[1])


async def redis_helps_again(client: httpx.AsyncClient) -> None:
    before = await metric(client, "hits_total")

    async def has_hit() -> bool:
        await all_end_well(client, await start_some(client))
        return await metric(client, "hits_total") > before

    await until(has_hit)


async def redis_is_left_alone(client: httpx.AsyncClient) -> None:
    async def is_open() -> bool:
        await all_end_well(client, await start_some(client))
        return await metric(client, "breaker_open") == 1

    await until(is_open)


async def test_whatever_happens_to_redis_executions_end_as_they_should(
    client: httpx.AsyncClient, redis: OwnRedis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "muster.kit.breaker")
    await redis_helps_again(client)

    resting = await start_some(client)
    async with Redis.from_url(redis.url) as beside:
        await beside.flushall()
    await all_end_well(client, resting)
    await redis_helps_again(client)

    for strike, mend in ((redis.freeze, redis.thaw), (redis.kill, redis.start)):
        errors, resting = await metric(client, "errors_total"), await start_some(client)
        strike()
        await all_end_well(client, resting)
        await all_end_well(client, await start_some(client))
        assert await metric(client, "errors_total") > errors
        await redis_is_left_alone(client)
        health = (await client.get("/health/ready")).json()
        assert (health["status"], health["components"]["redis"]["status"]) == ("UP", "DEGRADED")
        mend()
        await redis_helps_again(client)

    async def is_well() -> bool:
        health = (await client.get("/health/ready")).json()
        return bool(health["components"]["redis"]["status"] == "UP")

    await until(is_well)
    assert any("left alone" in line for line in caplog.messages)


async def test_a_redis_that_takes_nearly_all_of_its_time_for_every_answer_is_left_alone(
    client: httpx.AsyncClient, line: Line
) -> None:
    await redis_helps_again(client)
    resting = await start_some(client)
    line.delay = SLOW_SECONDS / 2  # either way
    await all_end_well(client, resting)
    await redis_is_left_alone(client)
    await all_end_well(client, await start_some(client))
    line.be_well()
    await redis_helps_again(client)


async def test_an_execution_is_in_redis_as_it_says(client: httpx.AsyncClient, redis: OwnRedis) -> None:
    execution = (await start_some(client))[7]
    async with Redis.from_url(redis.url, decode_responses=True) as beside:

        async def rests() -> bool:
            found = await beside.get(f"execution:context:{execution}")
            return found is not None and '"status":"PAUSED"' in found

        await until(rests)
        assert 86_000 < await beside.ttl(f"execution:context:{execution}") <= 86_400
