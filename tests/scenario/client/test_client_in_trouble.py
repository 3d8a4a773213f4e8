"""The client when things go wrong: answers that get lost, a server that is away, one that wants to be left
alone."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from muster.app.build import opened
from muster.app.settings import Settings
from muster.client import NEVER, AsyncMuster, Muster, RateLimited, Retries, Unavailable, Unreachable
from polling import PATIENCE
from servers import Server
from stand_ins.bad_line import BadLine, bad_line

NODE = {"id": "say", "type": "LOG", "config": {"message": "hi"}}
PATIENT = Retries(tries=1_000, longest=0.5, within=PATIENCE)


@pytest.fixture
def key(muster: Muster) -> str:
    return muster.create_workflow({"workflow": {"name": f"W {uuid4().hex}", "nodes": [NODE]}}).key


@pytest.fixture
def line(server: Server) -> Iterator[BadLine]:
    with bad_line(server.port) as found:
        yield found


def started(muster: Muster, key: str) -> int:
    return len(list(muster.executions(workflow=key)))


def test_a_start_whose_answer_is_lost_is_repeated_under_its_key_and_starts_once(
    muster: Muster, line: BadLine, key: str
) -> None:
    line.loses = 2
    with Muster(line.url) as client:
        found = client.execute(key)
    assert len(line.keys) == 3
    assert len(set(line.keys)) == 1
    assert not found.duplicate
    assert started(muster, key) == 1


async def test_the_same_by_awaiting(muster: Muster, line: BadLine, key: str) -> None:
    line.loses = 1
    async with AsyncMuster(line.url) as client:
        found = await client.execute(key, wait=60)
    assert (found.status, found.duplicate) == ("COMPLETED", False)
    assert [row.id for row in muster.executions(workflow=key)] == [found.execution_id]


def test_what_is_not_safe_to_repeat_is_in_doubt_instead(muster: Muster, line: BadLine, key: str) -> None:
    id = muster.execute(key, wait=60).execution_id
    line.loses = 1
    with Muster(line.url) as client, pytest.raises(Unreachable) as raised:
        client.publish("t", {"id": id})
    assert raised.value.in_doubt
    assert len(line.paths) == 1


def test_who_is_asked_to_wait_waits_and_comes_back(line: BadLine, key: str) -> None:
    line.refuses, line.status, line.headers = 1, 503, {"Retry-After": "1"}
    with Muster(line.url) as client:
        assert client.workflow(key).key == key
    assert len(line.paths) == 2


def test_a_wait_that_is_longer_than_ones_patience_is_an_error_at_once(line: BadLine, key: str) -> None:
    line.refuses, line.status, line.headers = 1, 429, {"Retry-After": "3600"}
    with Muster(line.url) as client, pytest.raises(RateLimited):
        client.workflow(key)
    line.refuses, line.status = 1, 502
    with Muster(line.url, retries=NEVER) as client, pytest.raises(Unavailable):
        client.workflow(key)


def test_nobody_there_is_said_without_the_password_of_the_address() -> None:
    with Muster("http://ada:hush@127.0.0.1:1", retries=NEVER) as client, pytest.raises(Unreachable) as raised:
        client.workflow("w")
    assert not raised.value.in_doubt
    assert "hush" not in str(raised.value)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    yield found
    found.clean_up()


def test_a_server_that_is_restarted_in_the_middle_loses_and_repeats_nothing(own: Server) -> None:
    own.start()
    with Muster(f"http://127.0.0.1:{own.port}", retries=PATIENT) as client:
        key = client.create_workflow({"workflow": {"name": "W", "nodes": [NODE]}}).key
        ids = [client.execute(key).execution_id for _ in range(3)]
        assert own.process is not None
        own.end(signal.SIGKILL)
        again = threading.Thread(target=own.start)
        again.start()
        ids += [client.execute(key).execution_id for _ in range(3)]
        again.join(PATIENCE)
        assert {client.wait(id, timeout=PATIENCE).status for id in ids} == {"COMPLETED"}
        assert sorted(ids) == sorted(row.id for row in client.executions(workflow=key))


async def test_a_server_that_limits_its_callers_is_asked_again_when_it_says(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": str(tmp_path), "api": {"rate_limit": 2}})
    async with opened(settings) as built:
        transport = httpx.ASGITransport(built.api, client=("127.0.0.1", 1))
        hasty = AsyncMuster(http=httpx.AsyncClient(transport=transport), retries=NEVER)
        with pytest.raises(RateLimited):
            await asyncio.gather(*(hasty.validate({}) for _ in range(200)))
        async with AsyncMuster(http=httpx.AsyncClient(transport=transport), retries=PATIENT) as client:
            for _ in range(3):
                assert not (await client.validate({})).valid
        await hasty.close()
