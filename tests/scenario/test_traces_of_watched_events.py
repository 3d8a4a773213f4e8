"""An event that is watched belongs to its sender's trace, or has one of its own, through every stage."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from databases import MigratedUrls, fresh_database, server_of
from muster.app.build import opened
from muster.app.settings import Settings
from scenario.test_traces import CALLER, HEADERS, TRACE, client_of
from scenario.test_watch_stages import event
from stand_ins.otlp_receiver import Receiver, receiver
from watched_trade import TRADE


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    async with receiver() as found:
        yield found


def settings_of(collector: Receiver, **settings: object) -> Settings:
    return Settings.model_validate({**settings, "tracing": {"endpoint": collector.url}})


async def test_each_event_is_a_span_of_its_own_once(collector: Receiver, tmp_path: Path) -> None:
    async with opened(settings_of(collector, data_dir=tmp_path)) as house, client_of(house) as client:
        first, alone, another = (event(name, "TR1") for name in ("TRADE_INGEST", "SYS2_VERIFIED", "SYS3_ACK"))
        for _ in range(2):  # the second time they are there already
            answered = await client.post("/ingest", json=first, headers=HEADERS)
            assert answered.status_code == 202, answered.text
        await client.post("/ingest", json=[alone, another])
    spans = {span.name: span for span in collector.spans}
    assert sorted(span.name for span in collector.spans) == [
        "ingest SYS2_VERIFIED",
        "ingest SYS3_ACK",
        "ingest TRADE_INGEST",
    ]
    sent = spans["ingest TRADE_INGEST"]
    assert (sent.trace, sent.parent) == (TRACE, CALLER)
    assert sent.attributes["muster.event.id"] == first["eventId"]
    own = [spans["ingest SYS2_VERIFIED"], spans["ingest SYS3_ACK"]]
    assert len({TRACE, *(span.trace for span in own)}) == 3, "who sends no trace gives each its own"
    assert {span.parent for span in own} == {""}


@pytest.mark.postgres
async def test_a_trace_goes_on_from_stage_to_stage(
    request: pytest.FixtureRequest, templates: MigratedUrls, collector: Receiver
) -> None:
    like = await asyncio.to_thread(templates.of, "postgres")
    stages = ("ingest", "rule", "aggregate,alert")
    async with (
        fresh_database("postgres", server_of("postgres", request), like=like) as url,
        AsyncExitStack() as stack,
    ):
        houses = []
        for names in stages:
            settings = {"database": {"url": url}, "instance_id": names, "watch": {"stages": names}}
            houses.append(await stack.enter_async_context(opened(settings_of(collector, **settings))))
        async with client_of(houses[0]) as client:
            assert (await client.post("/workflows", json=TRADE)).status_code == 201
            # Out of order: it is counted, and an alert.
            await client.post("/ingest", json=event("SYS3_ACK", "TR2"), headers=HEADERS)
        spans = await collector.named("ingest SYS3_ACK", "evaluate SYS3_ACK", "aggregate", "alert")
    assert {span.trace for span in spans.values()} == {TRACE}
    taken, evaluated = spans["ingest SYS3_ACK"], spans["evaluate SYS3_ACK"]
    assert (taken.instance, taken.parent) == ("ingest", CALLER)
    assert (evaluated.instance, evaluated.parent) == ("rule", taken.id)
    for name in ("aggregate", "alert"):
        assert (spans[name].instance, spans[name].parent) == ("aggregate,alert", evaluated.id)


async def test_what_an_execution_tells_of_itself_is_of_its_trace(collector: Receiver, tmp_path: Path) -> None:
    nodes = [{"id": "take", "type": "NOOP", "config": {}}]
    orders = {"key": "orders", "name": "Orders", "watch": True, "nodes": nodes}
    async with opened(settings_of(collector, data_dir=tmp_path)) as house, client_of(house) as client:
        saved = await client.post("/api/workflow", json={"workflow": orders})
        assert saved.status_code == 201, saved.text
        await client.post("/api/workflow/execute", json={"key": "orders"}, headers=HEADERS)
        spans = await collector.named("orders", "take", "ingest orders.take")
    assert {span.trace for span in spans.values()} == {TRACE}
    assert spans["ingest orders.take"].parent == spans["take"].id
