"""A trace comes in with a request, and goes on through messages, triggers and signed hooks."""

from typing import Any

import pytest

from api_for_tests import Client
from muster.app.build import House
from polling import until
from stand_ins.http_site import Reply, site

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADERS = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


@pytest.fixture
def house(house_on_a_bus: House) -> House:
    return house_on_a_bus


async def saved(client: Client, key: str, *nodes: dict[str, Any]) -> None:
    made = await client.post("/api/workflow", json={"workflow": {"name": key, "key": key, "nodes": nodes}})
    assert made.status_code == 201, made.text


async def test_a_trace_goes_on_from_a_request_by_a_message_to_a_call(client: Client, topic: str) -> None:
    async with site(lambda _: Reply()) as far:
        await saved(
            client, "tells", {"id": "t", "type": "KAFKA_PUBLISH", "config": {"topic": topic, "payload": 1}}
        )
        await saved(client, "calls", {"id": "c", "type": "REST_SYNC", "config": {"url": far.url("/here")}})
        trigger = {"workflowId": "calls", "type": "event", "topic": topic}
        assert (await client.post("/api/workflow/triggers", json=trigger)).status_code == 201
        started = await client.post("/api/workflow/execute", json={"key": "tells"}, headers=HEADERS)
        assert started.headers["x-trace-id"] == TRACE

        async def called() -> bool:
            return bool(far.asked)

        await until(called)
    assert far.asked[0].header("traceparent") == HEADERS["traceparent"]


async def test_a_trigger_that_is_fired_starts_in_the_callers_trace(client: Client) -> None:
    async with site(lambda _: Reply()) as far:
        await saved(client, "calls", {"id": "c", "type": "REST_SYNC", "config": {"url": far.url("/here")}})
        for settings in ({"path": "orders"}, {"triggerEventName": "ORDERED"}):
            body = {"workflowId": "calls", "type": "webhook", "authentication": "NONE", **settings}
            made = await client.post("/api/workflow/triggers", json=body)
            assert made.status_code == 201, made.text
        fired = "/api/workflow/trigger"
        await client.post(f"{fired}/orders?wait=60", json={}, headers=HEADERS)
        named = {"eventName": "ORDERED", "context": {}}
        await client.post(f"{fired}?wait=60", json=named, headers=HEADERS)
    assert [asked.header("traceparent") for asked in far.asked] == [HEADERS["traceparent"]] * 2


async def test_a_header_that_breaks_the_standard_is_not_passed_on(client: Client) -> None:
    async with site(lambda _: Reply()) as far:
        await saved(client, "calls", {"id": "c", "type": "REST_SYNC", "config": {"url": far.url("/here")}})
        bad = {"traceparent": f"00-{TRACE}-0000000000000000-01"}
        await client.post("/api/workflow/execute?wait=60", json={"key": "calls"}, headers=bad)
    assert far.asked[0].header("traceparent") is None
