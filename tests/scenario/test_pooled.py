"""Muster on a PostgreSQL behind PgBouncer, which shares connections between transactions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from databases import fresh_database
from muster.app.build import House, opened
from muster.app.load import load
from muster.app.storage import CannotOpen
from muster.engine.control import Start
from muster.model.access import Caller, How, Role
from own_pgbouncer import own_pgbouncer
from polling import poll, until
from servers import Server

pytestmark = pytest.mark.postgres

ADA = Caller("ada", frozenset({Role.ADMIN}), None, How.TOKEN)


def setting(field: str, expression: str) -> dict[str, Any]:
    return {"transformations": [{"field": field, "expression": expression}]}


RESTING = {
    "workflow": {
        "key": "resting",
        "name": "Resting",
        "nodes": [
            {
                "id": "before",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "a", "expression": "#{n}"}]},
            },
            {"id": "rest", "type": "delay", "config": {"duration": 1100, "unit": "milliseconds"}},
            {
                "id": "after",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "b", "expression": "#{a * 2}"}]},
            },
        ],
    }
}
MANY = 40


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    async with fresh_database("postgres", postgres_url) as direct:
        with own_pgbouncer(direct) as pooled:
            yield pooled


async def test_executions_rest_and_end_on_two_instances_behind_a_pooler(url: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        houses: list[House] = []
        for name in ("one", "two"):
            given = {"DB_URL": url, "MUSTER_DATABASE_POOLED": "true", "INSTANCE_ID": name}
            settings = load({**given, "MUSTER_DATA_DIR": str(tmp_path / name)}, {}, tmp_path).settings
            houses.append(await stack.enter_async_context(opened(settings)))
        await houses[0].library.create(RESTING, ADA)
        begun = await asyncio.gather(
            *(houses[n % 2].control.start(Start("resting", {"n": n}), ADA) for n in range(MANY))
        )

        async def ended() -> bool:
            found = [await houses[0].control.get(each.id, ADA) for each in begun]
            return all(each.row.status == "COMPLETED" for each in found)

        await until(ended)
        found = [await houses[1].control.get(each.id, ADA) for each in begun]
        assert [each.context["b"] for each in found] == [2 * n for n in range(MANY)]


async def test_whoever_does_not_say_that_there_is_a_pooler_is_told_so(url: str, tmp_path: Path) -> None:
    settings = load({"DB_URL": url, "MUSTER_DATA_DIR": str(tmp_path)}, {}, tmp_path).settings
    with pytest.raises(CannotOpen, match=r"database\.pooled"):
        async with opened(settings):
            pass


WAITING = {
    "workflow": {
        "key": "waiting",
        "name": "Waiting",
        "nodes": [
            {
                "id": "wait",
                "type": "wait_events",
                "config": {
                    "events": [
                        {"name": "called", "source": "callback"},
                        {"name": "told", "source": "kafka", "topic": "answers"},
                    ],
                    "timeout": 3600,
                },
            },
            {"id": "after", "type": "TRANSFORM", "config": setting("sum", "#{called.n + told.n}")},
        ],
    }
}
ORDERS = {
    "key": "orders",
    "graph": {
        "nodes": [
            {"key": "ordered", "eventType": "ORDERED", "start": True},
            {"key": "paid", "eventType": "PAID", "terminal": True},
        ],
        "edges": [{"from": "ordered", "to": "paid", "maxLatencySec": 3600}],
    },
}


def call(server: Server, method: str, path: str, body: object = None) -> Any:
    status, found = server.call(method, path, body)
    assert status < 300, found
    return found


async def test_waits_messages_and_watched_events_work_behind_a_pooler(url: str, tmp_path: Path) -> None:
    """With one server: what one of its connections did is there for the others."""
    server = Server(tmp_path)
    server.settings = {"DB_URL": url, "MUSTER_DATABASE_POOLED": "true"}
    try:
        await asyncio.to_thread(server.start)
        await asyncio.to_thread(use, server)
    finally:
        server.clean_up()


def use(server: Server) -> None:
    call(server, "POST", "/api/workflow", WAITING)
    begun = [call(server, "POST", "/api/workflow/execute", {"key": "waiting"}) for _ in range(5)]
    for place, each in enumerate(begun):
        execution = each["executionId"]
        [wait] = poll(lambda: call(server, "GET", f"/api/waits?execution={execution}")["items"])  # noqa: B023
        ids = {"execution_id": execution, "correlation_id": wait["correlationId"]}
        call(server, "POST", "/api/internal/callbacks/external-service", {**ids, "n": place})
        message = {"value": {**ids, "n": 100}}
        call(server, "POST", "/api/messages/answers", message)
    for place, each in enumerate(begun):
        path = f"/api/workflow/executions/{each['executionId']}"
        poll(lambda: call(server, "GET", path)["status"] == "COMPLETED")  # noqa: B023
        assert call(server, "GET", path)["context"]["sum"] == 100 + place

    call(server, "POST", "/workflows", ORDERS)
    at = datetime.now(UTC).isoformat()
    events = [
        {"eventId": f"{type_}-{key}", "sourceSystem": "shop", "eventType": type_, "eventTime": at}
        | {"correlationKey": str(key)}
        for key in range(20)
        for type_ in ("ORDERED", "PAID")
    ]
    first, again = (call(server, "POST", "/ingest", events)["results"] for _ in range(2))
    assert {each["duplicate"] for each in first} == {False}
    assert {each["duplicate"] for each in again} == {True}
