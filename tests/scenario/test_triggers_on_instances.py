"""Triggers on real servers: two instances on one PostgreSQL, and the command line against one."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest

from databases import fresh_database
from servers import MUSTER
from torture.instances import MusterProcess
from torture.nursery import Nursery
from triggers_for_tests import ECHO, FIRE, TRIGGERS, signing

pytestmark = pytest.mark.postgres

KEY = "A" * 43 + "="


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
async def instances(
    nursery: Nursery, tmp_path: Path, postgres_url: str
) -> AsyncIterator[list[MusterProcess]]:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(fresh_database("postgres", postgres_url))
        settings = {"DB_URL": url, "MUSTER_SECRET_KEY": KEY, "MUSTER_LOG_FORMAT": "json"}
        made = [MusterProcess(name, nursery, tmp_path, settings) for name in ("one", "two")]
        for instance in made:
            instance.start()
            stack.callback(instance.kill)
        for instance in made:
            await instance.ready()
        yield made


async def until(status: int, send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """The answer, once it has this status: what another instance has changed is seen within a second."""
    for _ in range(600):
        answer = await send()
        if answer.status_code == status:
            return answer
        await asyncio.sleep(0.1)
    raise AssertionError(f"never {status}: {answer.text}")


async def test_what_one_instance_changes_the_other_goes_by(
    instances: list[MusterProcess], tmp_path: Path
) -> None:
    one, two = instances
    async with httpx.AsyncClient(timeout=30) as client:

        async def post(instance: MusterProcess, path: str, body: object = None) -> httpx.Response:
            return await client.post(f"{instance.url}{path}", json=body)

        async def send(instance: MusterProcess, secret: str, id: str) -> httpx.Response:
            content = b'{"userId": "u1"}'
            headers = signing(secret, content, datetime.now(UTC), id)
            return await client.post(f"{instance.url}{FIRE}/orders", content=content, headers=headers)

        await post(one, "/api/workflow", {"workflow": {"key": "orders", "name": "Orders", "nodes": [ECHO]}})
        assert (await post(two, f"{FIRE}/orders")).status_code == 404
        body = {"workflowId": "orders", "path": "orders", "authentication": "HMAC"}
        made = (await post(one, TRIGGERS, body)).json()
        trigger = f"{TRIGGERS}/{made['id']}"
        first = (await send(one, made["secret"], "m1")).json()["executionId"]
        seen = await until(200, partial(send, two, made["secret"], "m1"))
        assert seen.json() == {"status": "SKIPPED", "reason": "DUPLICATE", "executionId": first}

        at_once = [send(instance, made["secret"], "m2") for instance in instances * 5]
        answers = await asyncio.gather(*at_once)
        assert sorted(answer.status_code for answer in answers) == [200] * 9 + [202]
        assert len({answer.json()["executionId"] for answer in answers}) == 1

        rotated = (await post(one, f"{trigger}/rotate")).json()["secret"]
        await until(200, partial(send, two, rotated, "m2"))
        assert (await send(two, made["secret"], "m2")).status_code == 200
        await post(two, f"{trigger}/revoke")
        await until(401, partial(send, one, made["secret"], "m2"))
        assert (await send(one, rotated, "m2")).status_code == 200
        await client.delete(f"{two.url}{trigger}")
        await until(404, partial(send, one, rotated, "m2"))
    assert made["secret"] not in one.log.read_text() + two.log.read_text()
    assert rotated not in one.log.read_text() + two.log.read_text()
    _by_command(one, tmp_path)


def _by_command(instance: MusterProcess, folder: Path) -> None:
    def muster(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(MUSTER), "triggers", *arguments, "--server", instance.url]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    idempotency = '{"strategy": "UUID"}'
    made = muster(
        "create", "orders", "--path", "bills", "--authentication", "hmac", "--idempotency", idempotency
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("whsec_")
    [found] = json.loads(muster("ls", "--workflow", "orders", "--json").stdout)
    assert (found["path"], found["idempotencyGenerationSetting"]) == ("bills", {"strategy": "UUID"})
    assert found["id"] in muster("ls").stdout
    assert json.loads(muster("show", found["id"]).stdout) == found
    rotated = json.loads(muster("rotate", found["id"], "--json").stdout)
    assert rotated["secret"].startswith("whsec_")
    assert "1 secret(s)" in muster("revoke", found["id"]).stderr
    taken = muster("create", "orders", "--path", "bills")
    assert (taken.returncode, taken.stderr.strip()) == (1, "The path 'bills' is in use already.")
    assert muster("delete", found["id"]).returncode == 0
    assert muster("delete", found["id"]).returncode == 1
