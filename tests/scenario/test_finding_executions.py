"""Executions found by what people know of them: values, tags, times, status, page by page."""

import asyncio
from typing import Any

import pytest

from api_for_tests import Client

ORDERS = {
    "workflow": {
        "key": "orders",
        "name": "Orders",
        "search": ["order.id", "$.customer.name", "tickets", "state"],
        "nodes": [
            {
                "id": "note",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "state", "expression": "Shipped today"}]},
            }
        ],
    }
}
PLAIN = {"workflow": {"key": "plain", "name": "Plain", "nodes": [{"id": "a", "type": "NOOP", "config": {}}]}}
PATH = "/api/workflow/executions"


async def run(client: Client, key: str, context: dict[str, Any], **more: object) -> str:
    body = {"key": key, "context": context, **more}
    answer = await client.post("/api/workflow/execute?wait=60", json=body)
    assert answer.status_code == 200, answer.text
    identity: str = answer.json()["executionId"]
    return identity


async def ids(client: Client, query: str) -> list[str]:
    answer = await client.get(f"{PATH}?{query}")
    assert answer.status_code == 200, answer.text
    return [row["id"] for row in answer.json()["items"]]


async def test_values_that_the_definition_names_are_found_by_how_their_words_begin(client: Client) -> None:
    await client.post("/api/workflow", json=ORDERS)
    order: dict[str, Any] = {"id": "ORD-1234"}
    customer = {"name": "Ada Müller-Lovelace", "secret": "hidden"}
    wanted = await run(client, "orders", {"order": order, "customer": customer, "tickets": [77, {"a": 1}]})
    await run(client, "orders", {"order": {"id": "X-9"}, "customer": {"name": "Bob"}})
    for q in ("ord-1234", "ORD", "1234", "ada", "ADA  mü", "müller", "lovelace", "77"):
        assert await ids(client, f"q={q}") == [wanted], q
    for q in ("234", "hidden", "velace", "ada b", "%25", "_"):
        assert await ids(client, f"q={q}") == [], q
    # What the execution itself has set is found once it is written.
    assert len(await ids(client, "q=shipped")) == 2
    assert len(await ids(client, "q=today")) == 2


async def test_what_no_search_names_is_not_found(client: Client) -> None:
    await client.post("/api/workflow", json=PLAIN)
    await run(client, "plain", {"name": "Ada"})
    assert await ids(client, "q=ada") == []


async def test_executions_are_found_by_tag_workflow_status_and_time(client: Client) -> None:
    identity = (await client.post("/api/workflow", json=PLAIN)).json()["id"]
    first = await run(client, "plain", {}, tags=["urgent", "urgent", "EU"])
    await asyncio.sleep(0.01)  # ids are in the order of milliseconds
    second = await run(client, "plain", {}, tags=["eu"])
    assert await ids(client, "tag=urgent") == [first]
    assert await ids(client, "tag=eu") == [second]
    assert await ids(client, f"workflow={identity}&tag=EU") == [first]
    assert await ids(client, "status=COMPLETED") == [second, first]
    assert await ids(client, "status=FAILED") == []
    began = (await client.get(f"{PATH}/{second}")).json()["startedAt"]
    assert await ids(client, f"from={began}") == [second]
    assert await ids(client, f"to={began}") == [first]
    page = (await client.get(f"{PATH}?workflow=plain&limit=1")).json()
    assert [row["id"] for row in page["items"]] == [second]
    assert await ids(client, f"workflow=plain&limit=1&cursor={page['nextCursor']}") == [first]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("colour=red", "UNKNOWN_PARAMETER"),
        ("stauts=FAILED", "UNKNOWN_PARAMETER"),
        ("status=failed", "INVALID_PARAMETER"),
        ("q=%20", "INVALID_PARAMETER"),
        ("from=yesterday", "INVALID_PARAMETER"),
    ],
)
async def test_what_cannot_be_asked_for_is_refused(client: Client, query: str, code: str) -> None:
    answer = await client.get(f"{PATH}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_a_search_that_is_no_path_is_refused_in_its_place(client: Client) -> None:
    document = {"workflow": {**ORDERS["workflow"], "search": ["ok", "a..b"]}}
    verdict = (await client.post("/api/workflow/validate", json=document)).json()
    assert [(error["code"], error["pointer"]) for error in verdict["errors"]] == [
        ("INVALID_PATH", "/workflow/search/1")
    ]
