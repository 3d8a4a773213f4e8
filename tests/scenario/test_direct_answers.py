"""Requests that take the direct way, and the same with a query, which take the framework's: one answer."""

from typing import Any

import httpx
import pytest

from api_for_tests import Client

FIRE, EXECUTE = "/api/workflow/trigger", "/api/workflow/execute"
MISTAKES: dict[str, tuple[str, dict[str, Any]]] = {
    "no JSON": (EXECUTE, {"content": b"{", "headers": {"Content-Type": "application/json"}}),
    "no JSON, by path": (f"{FIRE}/orders", {"content": b"{"}),
    "another type": (FIRE, {"content": b"<a/>", "headers": {"Content-Type": "text/xml"}}),
    "an unknown field": (EXECUTE, {"json": {"key": "orders", "contxt": {}}}),
    "a field of the wrong type": (FIRE, {"json": {"triggerId": 7}}),
    "no such workflow": (EXECUTE, {"json": {"key": "nothing"}}),
    "no such trigger": (FIRE, {"json": {"triggerId": "nothing"}}),
    "no such path": (f"{FIRE}/nothing/here", {"json": {}}),
    "an empty key": (EXECUTE, {"json": {"key": "orders"}, "headers": {"Idempotency-Key": ""}}),
    "a long key": (EXECUTE, {"json": {"key": "orders"}, "headers": {"Idempotency-Key": "k" * 256}}),
    "two keys": (
        EXECUTE,
        {
            "content": b'{"key": "orders"}',
            "headers": httpx.Headers([("Idempotency-Key", "a"), ("Idempotency-Key", "b")]),
        },
    ),
    "a token that is none": (EXECUTE, {"json": {"key": "orders"}, "headers": {"Authorization": "Bearer x"}}),
    "another host": (EXECUTE, {"json": {"key": "orders"}, "headers": {"Host": "muster.example.org"}}),
}


@pytest.fixture
async def orders(client: Client) -> Client:
    document = {"workflow": {"name": "orders", "nodes": [{"id": "a", "type": "NOOP"}]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    made = await client.post("/api/workflow/triggers", json={"workflowId": "orders", "path": "orders"})
    assert made.status_code == 201
    return client


def told(answer: httpx.Response) -> tuple[int, dict[str, Any], dict[str, str]]:
    body = answer.json()
    body.pop("requestId")
    differ = {"x-request-id", "x-trace-id", "content-length"}
    return (
        answer.status_code,
        body,
        {name: value for name, value in answer.headers.items() if name not in differ},
    )


async def test_a_mistake_has_one_answer_on_both_ways(orders: Client) -> None:
    for name, (path, sent) in MISTAKES.items():
        direct, general = await orders.post(path, **sent), await orders.post(f"{path}?wait=0", **sent)
        assert direct.status_code >= 400, name
        assert told(direct) == told(general), name


async def test_both_ways_are_counted_under_one_route(orders: Client) -> None:
    for path in (f"{FIRE}/orders", f"{FIRE}/orders?from=shop", EXECUTE):
        assert (await orders.post(path, json={"key": "orders"})).status_code == 202
    text = (await orders.get("/metrics")).text
    labels = 'method="POST",status="202"'
    assert f'http_server_requests_seconds_count{{{labels},uri="{FIRE}/{{path}}"}} 2.0' in text
    assert f'http_server_requests_seconds_count{{{labels},uri="{EXECUTE}"}} 1.0' in text
    assert "http_server_requests_active 1.0" in text
