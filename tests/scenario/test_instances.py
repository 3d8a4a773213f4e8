"""Several real instances on one PostgreSQL: they share the work, and hand it on when they end."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from databases import fresh_database
from muster.store.database import Database
from muster.store.open import open_database
from muster.store.tables import workflow_execution
from polling import PATIENCE, until
from stand_ins.http_site import site
from stand_ins.mail_server import mail_server
from torture.instances import MusterProcess
from torture.judge import judge, live
from torture.nursery import Nursery
from torture.outside import Callers, Sink, mails, workflow

pytestmark = pytest.mark.postgres

# Longer than any test: whoever has to wait for a lease is found out.
SETTINGS = {
    "MUSTER_ENGINE_LEASE": "3600",
    "MUSTER_ENGINE_SHUTDOWN_GRACE": "30",
    "MUSTER_HTTP_ALLOWED_NETWORKS": "127.0.0.0/8",
    "MUSTER_LOG_FORMAT": "json",
}
Make = Callable[..., MusterProcess]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    async with fresh_database("postgres", postgres_url) as found:
        yield found


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    found = open_database(url)
    yield found
    await found.close()


@pytest.fixture
def make(nursery: Nursery, tmp_path: Path, url: str) -> Iterator[Make]:
    made: list[MusterProcess] = []

    def one(name: str, **settings: str) -> MusterProcess:
        made.append(MusterProcess(name, nursery, tmp_path, {"DB_URL": url, **SETTINGS, **settings}))
        made[-1].start()
        return made[-1]

    yield one
    for instance in made:
        instance.kill()


async def post(instance: MusterProcess, path: str, body: object, status: int) -> dict[str, object]:
    async with httpx.AsyncClient(timeout=90) as client:
        answer = await client.post(f"{instance.url}{path}", json=body)
        assert answer.status_code == status, answer.text
        return dict(answer.json())


async def all_have_ended(database: Database) -> None:
    async def none_is_live() -> bool:
        return not await live(database)

    await until(none_is_live, every=0.1)


async def some_more_charged(sink: Sink) -> None:
    before = sink.charged

    async def are() -> bool:
        return sink.charged > before + 5

    await until(are)


async def test_a_rolling_restart_under_load_loses_nothing_and_repeats_nothing(
    make: Make, database: Database
) -> None:
    async with AsyncExitStack() as stack:
        sink = Sink()
        web = await stack.enter_async_context(site(sink.answer))
        letters = await stack.enter_async_context(mail_server())
        smtp = {"MUSTER_SMTP_HOST": "127.0.0.1", "MUSTER_SMTP_PORT": str(letters.port)}
        smtp |= {"MUSTER_SMTP_SECURITY": "none", "MUSTER_SMTP_RATE": "1000"}
        instances = [make("one", **smtp), make("two", **smtp)]
        for instance in instances:
            await instance.ready()
        await post(instances[0], "/api/workflow", workflow(web.url("").rstrip("/")), 201)
        callers = Callers(instances, sink, most_at_once=100)
        calling = asyncio.create_task(callers.call(executions=100_000, seconds=600, clients=4))
        for instance in instances * 2:
            await some_more_charged(sink)
            assert await instance.end() == 0
            instance.start()
            await instance.ready()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        await all_have_ended(database)
        verdict = await judge(database, callers.accepted, sink, mails(letters))
    assert not verdict.wrong
    assert len(callers.accepted) > 20
    assert {key for key, times in sink.calls.items() if times > 1} == set(), "what ran was let finish"


async def test_an_instance_without_the_engine_leaves_what_it_starts_to_those_that_have_it(
    make: Make, database: Database
) -> None:
    web, engine = make("web", MUSTER_ROLES="web"), make("engine", MUSTER_ROLES="engine")
    await web.ready()
    await engine.ready()
    nodes = [{"id": "wait", "type": "delay", "config": {"duration": 1100, "unit": "milliseconds"}}]
    await post(web, "/api/workflow", {"workflow": {"key": "short", "name": "Short", "nodes": nodes}}, 201)
    ended = await post(web, "/api/workflow/execute?wait=60", {"key": "short"}, 200)
    assert ended["status"] == "COMPLETED"
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        listed = (await client.get(f"{web.url}/api/workflow/executions")).json()["items"]
        assert (await client.post(f"{engine.url}/api/workflow/execute", json={})).status_code == 404
    assert [str(one["resumedBy"]).split("/")[0] for one in listed] == ["engine"]


async def test_without_any_engine_what_was_accepted_waits_for_one(make: Make, database: Database) -> None:
    web = make("web", MUSTER_ROLES="web")
    await web.ready()
    nodes = [{"id": "end", "type": "NOOP", "config": {}}]
    await post(web, "/api/workflow", {"workflow": {"key": "none", "name": "None", "nodes": nodes}}, 201)
    await post(web, "/api/workflow/execute", {"key": "none"}, 202)
    assert await web.end() == 0
    assert await live(database) == 1
    engine = make("engine", MUSTER_ROLES="engine")
    await all_have_ended(database)
    assert engine.is_up


async def test_who_waits_for_an_execution_is_answered_when_its_instance_ends(
    make: Make, database: Database
) -> None:
    instance = make("one")
    await instance.ready()
    nodes = [{"id": "wait", "type": "delay", "config": {"duration": 1, "unit": "hours"}}]
    await post(instance, "/api/workflow", {"workflow": {"key": "long", "name": "Long", "nodes": nodes}}, 201)
    waiting = asyncio.create_task(post(instance, "/api/workflow/execute?wait=60", {"key": "long"}, 202))
    parked = select(workflow_execution.c.id).where(workflow_execution.c.status == "PAUSED")
    await until(lambda: database.read(lambda connection: connection.scalar(parked)))
    assert await instance.end() == 0
    assert (await waiting)["status"] == "PAUSED"


async def test_each_worker_is_an_instance_of_its_own(make: Make) -> None:
    parent = make("host", MUSTER_WORKERS="2")
    await parent.ready()
    names: set[str] = set()

    async def both_have_answered() -> bool:
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            metrics = (await client.get(f"{parent.url}/metrics")).text
        names.update(re.findall(r'^muster_info\{.*instance="([^"]+)"', metrics, re.MULTILINE))
        return len(names) == 2

    await until(both_have_answered)
    assert names == {"host-1", "host-2"}
    assert await parent.end() == 0
