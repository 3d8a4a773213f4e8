"""One trace from a request over nodes, calls, callbacks and messages to the end, on any instance."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from databases import fresh_database
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.app.storage import CannotOpen
from polling import until
from stand_ins.http_site import Reply, site
from stand_ins.otlp_receiver import Receiver, receiver

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADERS = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
OTHER, SENDER = "11111111111111111111111111111111", "2222222222222222"
SECRET = "hunter2-in-a-body"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans are sent at once."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")


@pytest.fixture
async def collector() -> AsyncIterator[Receiver]:
    async with receiver() as found:
        yield found


@asynccontextmanager
async def client_of(house: House) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(house.api)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as found:
        yield found


async def saved(client: httpx.AsyncClient, key: str, *nodes: dict[str, Any]) -> None:
    chained = [
        {**node, "routing": [{"type": "goto", "targetNodeId": after["id"]}]} if after else node
        for node, after in zip(nodes, [*nodes[1:], None], strict=True)
    ]
    made = await client.post("/api/workflow", json={"workflow": {"name": key, "key": key, "nodes": chained}})
    assert made.status_code == 201, made.text


async def status_of(client: httpx.AsyncClient, execution: str) -> dict[str, Any]:
    return dict((await client.get(f"/api/workflow/executions/{execution}")).json())


async def is_so(client: httpx.AsyncClient, execution: str, status: str) -> dict[str, Any]:
    async def found() -> dict[str, Any]:
        row = await status_of(client, execution)
        return row if row["status"] == status else {}

    return await until(found)


@pytest.mark.postgres
async def test_a_trace_goes_through_a_call_a_callback_and_another_instance(
    postgres_url: str, collector: Receiver
) -> None:
    async with fresh_database("postgres", postgres_url) as url, site(lambda _: Reply(202)) as far:

        def of(name: str) -> Settings:
            tracing = {"endpoint": collector.url}
            return Settings.model_validate(
                {"instance-id": name, "database": {"url": url}, "tracing": tracing}
            )

        async with opened(of("one")) as one, client_of(one) as client:
            await saved(
                client,
                "order",
                {
                    "id": "ask",
                    "type": "REST_SYNC",
                    "config": {"url": far.url("/ask"), "body": SECRET, "method": "POST"},
                },
                {
                    "id": "wait",
                    "type": "wait_events",
                    "config": {"apiCall": {"enabled": True, "url": far.url("/call")}},
                },
                {"id": "tell", "type": "REST_SYNC", "config": {"url": far.url("/tell")}},
            )
            body = {"key": "order", "context": {"card": SECRET}}
            begun = await client.post("/api/workflow/execute", json=body, headers=HEADERS)
            execution = begun.json()["executionId"]
            [wait] = (await is_so(client, execution, "WAITING"))["waits"]
        async with opened(of("two")) as two, client_of(two) as client:
            ids = {"execution_id": execution, "correlation_id": wait["correlationId"]}
            answered = await client.post(
                "/api/internal/callbacks/external-service",
                json={**ids, "card": SECRET},
                headers={"traceparent": f"00-{OTHER}-{SENDER}-01"},
            )
            assert answered.json()["accepted"] is True
            await is_so(client, execution, "COMPLETED")
            spans = await collector.named("order", "ask", "wait", "tell", "receive api_response")
    assert {span.trace for span in spans.values()} == {TRACE}
    assert spans["order"].parent == CALLER
    assert {spans[name].parent for name in ("ask", "wait", "tell")} == {spans["order"].id}
    assert {name: spans[name].instance for name in ("ask", "wait", "tell")} == {
        "ask": "one",
        "wait": "two",
        "tell": "two",
    }
    received = spans["receive api_response"]
    assert (received.parent, received.links) == (spans["wait"].id, [(OTHER, SENDER)])
    assert received.attributes["muster.wait.completed"] is True
    sent = {asked.target: asked.header("traceparent") for asked in far.asked}
    assert sent == {
        "/ask": f"00-{TRACE}-{spans['ask'].id}-01",
        "/call": f"00-{TRACE}-{spans['wait'].id}-01",
        "/tell": f"00-{TRACE}-{spans['tell'].id}-01",
    }
    assert not any(SECRET.encode() in body for body in collector.bodies)


async def test_a_failed_node_is_an_error_of_its_kind(collector: Receiver, tmp_path: Path) -> None:
    settings = Settings.model_validate({"data-dir": tmp_path, "tracing": {"endpoint": collector.url}})
    async with opened(settings) as house, client_of(house) as client:
        await saved(client, "stop", {"id": "no", "type": "FAIL", "config": {"message": SECRET}})
        await client.post("/api/workflow/execute?wait=60", json={"key": "stop"})
        spans = await collector.named("stop", "no")
    assert all(span.failed and span.attributes["error.type"] == "Failed" for span in spans.values())
    assert not any(SECRET.encode() in body for body in collector.bodies)


async def test_what_is_left_is_sent_at_the_end(
    collector: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
    settings = Settings.model_validate({"data-dir": tmp_path, "tracing": {"endpoint": collector.url}})
    async with opened(settings) as house, client_of(house) as client:
        await saved(client, "short", {"id": "n", "type": "NOOP"})
        await client.post("/api/workflow/execute?wait=60", json={"key": "short"})
        assert collector.spans == []
    assert {span.name for span in collector.spans} == {"short", "n"}


@pytest.mark.parametrize("off", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
async def test_it_is_off_where_all_programs_are_told_so(
    collector: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: dict[str, str]
) -> None:
    for name, value in off.items():
        monkeypatch.setenv(name, value)
    settings = Settings.model_validate({"data-dir": tmp_path, "tracing": {"endpoint": collector.url}})
    async with opened(settings) as house, client_of(house) as client:
        await saved(client, "short", {"id": "n", "type": "NOOP"})
        await client.post("/api/workflow/execute?wait=60", json={"key": "short"})
    assert collector.bodies == []


async def test_another_protocol_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    settings = Settings.model_validate(
        {"data-dir": tmp_path, "tracing": {"endpoint": "http://127.0.0.1:4317"}}
    )
    with pytest.raises(CannotOpen, match="OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`"):
        async with opened(settings):
            pass


async def test_executions_go_on_where_the_collector_is_away(tmp_path: Path) -> None:
    async with receiver() as gone:
        address = gone.url
    settings = Settings.model_validate({"data-dir": tmp_path, "tracing": {"endpoint": address}})
    async with opened(settings) as house, client_of(house) as client:
        await saved(client, "short", {"id": "n", "type": "NOOP"})
        ended = await client.post("/api/workflow/execute?wait=60", json={"key": "short"})
        assert ended.json()["status"] == "COMPLETED"
