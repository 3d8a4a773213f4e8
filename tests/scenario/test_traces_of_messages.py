"""Commands, replies and events are of their execution's trace: on the embedded bus and on Kafka."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from databases import fresh_database
from kafka_stranger import Stranger
from muster.app.build import opened
from muster.app.settings import Settings
from polling import until
from scenario.test_traces import CALLER, HEADERS, OTHER, SENDER, TRACE, client_of, is_so, saved
from stand_ins.http_site import Reply, site
from stand_ins.otlp_receiver import Receiver, receiver


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    async with receiver() as found:
        yield found


@pytest.fixture
def run() -> str:
    return uuid4().hex[:8]


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def client(
    request: pytest.FixtureRequest, tmp_path: Path, run: str, collector: Receiver
) -> AsyncIterator[httpx.AsyncClient]:
    settings: dict[str, Any] = {"data_dir": str(tmp_path), "tracing": {"endpoint": collector.url}}
    if request.param == "kafka":
        brokers = request.getfixturevalue("kafka_bootstrap")
        topics = [NewTopic(f"{run}-{name}", 1, 1) for name in ("commands", "replies", "events", "told")]
        admin = AdminClient({"bootstrap.servers": brokers})  # named: it has to be there until they are made
        for each in admin.create_topics(topics).values():
            await asyncio.to_thread(each.result)
        settings["kafka"] = {"bootstrap_servers": brokers, "consumer": {"group_id": f"g-{run}"}}
        settings["workflow"] = {"kafka": {"reply_group_id": f"r-{run}"}}
    async with opened(Settings.model_validate(settings)) as house, client_of(house) as found:
        yield found


async def publish(client: httpx.AsyncClient, topic: str, value: object, **headers: str) -> None:
    sent = await client.post(f"/api/messages/{topic}", json={"headers": headers, "value": value})
    assert sent.status_code == 202, sent.text


async def command_of(client: httpx.AsyncClient, execution: str) -> dict[str, Any]:
    async def found() -> dict[str, Any]:
        rows = (await client.get(f"/api/commands?execution={execution}")).json()["items"]
        return rows[0] if rows and rows[0]["status"] == "SENT" else {}

    return await until(found)


async def test_a_trace_goes_through_commands_replies_events_and_messages(
    client: httpx.AsyncClient, collector: Receiver, run: str
) -> None:
    topics = {"commandTopic": f"{run}-commands", "replyTopic": f"{run}-replies"}
    events = {"kafkaEvent": {"enabled": True, "topic": f"{run}-events"}}
    await saved(
        client,
        "order",
        {"id": "charge", "type": "KAFKA_COMMAND", "config": {**topics, "command": {"n": 1}}},
        {"id": "await", "type": "wait_events", "config": events},
        {"id": "tell", "type": "KAFKA_PUBLISH", "config": {"topic": f"{run}-told", "payload": {}}},
    )
    await saved(client, "heard", {"id": "n", "type": "NOOP"})
    trigger = {"workflowId": "heard", "type": "event", "topic": f"{run}-told"}
    assert (await client.post("/api/workflow/triggers", json=trigger)).status_code == 201
    begun = await client.post("/api/workflow/execute", json={"key": "order"}, headers=HEADERS)
    execution = begun.json()["executionId"]
    command = await command_of(client, execution)
    correlation = command["correlationId"]
    # Who answers goes on with the trace that came with the command; who sends the event is of another.
    ours = f"00-{TRACE}-{SENDER}-01"
    await publish(client, f"{run}-replies", {}, **{"X-Correlation-ID": correlation, "traceparent": ours})

    async def awaits() -> dict[str, Any]:
        waits = (await client.get("/api/waits?status=waiting")).json()["items"]
        return waits[0] if waits else {}

    wait = await until(awaits)
    ids = {"execution_id": execution, "correlation_id": wait["correlationId"]}
    await publish(client, f"{run}-events", ids, traceparent=f"00-{OTHER}-{SENDER}-01")
    await is_so(client, execution, "COMPLETED")
    names = ("order", "charge", "await", "tell", "receive reply", "receive kafka_event", "heard")
    spans = await collector.named(*names)
    assert {spans[name].trace for name in names} == {TRACE}
    assert spans["order"].parent == CALLER
    assert command["commandHeaders"]["traceparent"] == f"00-{TRACE}-{spans['charge'].id}-01"
    assert (spans["receive reply"].parent, spans["receive reply"].links) == (SENDER, [])
    event = spans["receive kafka_event"]
    assert (event.parent, event.links) == (spans["await"].id, [(OTHER, SENDER)])
    assert spans["heard"].parent == spans["tell"].id, "what a message starts is below who sent it"


@pytest.mark.kafka
@pytest.mark.postgres
async def test_one_trace_leads_over_kafka_from_the_instance_that_asked_to_the_one_that_goes_on(
    postgres_url: str, kafka_bootstrap: str, collector: Receiver, run: str
) -> None:
    stranger = Stranger(kafka_bootstrap)
    commands, replies = f"{run}-commands", f"{run}-replies"
    await stranger.make(commands, replies)
    async with fresh_database("postgres", postgres_url) as url, site(lambda _: Reply()) as far:

        def of(name: str) -> Settings:
            return Settings.model_validate(
                {
                    "instance-id": name,
                    "database": {"url": url},
                    "tracing": {"endpoint": collector.url},
                    "kafka": {"bootstrap_servers": kafka_bootstrap, "consumer": {"group_id": f"g-{run}"}},
                    "workflow": {"kafka": {"reply_group_id": f"r-{run}"}},
                }
            )

        async with opened(of("asks")) as house, client_of(house) as client:
            topics = {"commandTopic": commands, "replyTopic": replies}
            await saved(
                client,
                "order",
                {"id": "check", "type": "REST_SYNC", "config": {"url": far.url("/check")}},
                {"id": "charge", "type": "KAFKA_COMMAND", "config": {**topics, "command": {"n": 1}}},
                {"id": "ship", "type": "REST_SYNC", "config": {"url": far.url("/ship")}},
            )
            begun = await client.post("/api/workflow/execute", json={"key": "order"}, headers=HEADERS)
            execution = begun.json()["executionId"]
            [command] = await stranger.has(commands, 1)
            await is_so(client, execution, "WAITING")
        async with opened(of("goes on")) as house, client_of(house) as client:
            # Who replies goes on from what came with the command, in a span of its own.
            trace = command.headers["traceparent"].split("-")
            goes_on = {"traceparent": "-".join([*trace[:2], SENDER, trace[3]])}
            ids = {"X-Correlation-ID": command.headers["X-Correlation-ID"]}
            await stranger.send(replies, b"{}", **ids, **goes_on)
            await is_so(client, execution, "COMPLETED")
            spans = await collector.named("order", "check", "charge", "ship", "receive reply")
    names = ("order", "check", "charge", "ship", "receive reply")
    assert {spans[name].trace for name in names} == {TRACE}
    assert {name: spans[name].instance for name in names} == {
        "check": "asks",
        **dict.fromkeys(("order", "charge", "ship", "receive reply"), "goes on"),
    }
    # Connected: from each span the way leads up to the caller, over the one who replied as well.
    assert spans["order"].parent == CALLER
    assert {spans[name].parent for name in ("check", "charge", "ship")} == {spans["order"].id}
    assert trace[1:3] == [TRACE, spans["charge"].id]
    assert spans["receive reply"].parent == SENDER
    assert [asked.header("traceparent") for asked in far.asked] == [
        f"00-{TRACE}-{spans[name].id}-01" for name in ("check", "ship")
    ]


async def test_a_reply_that_is_an_error_is_one(
    client: httpx.AsyncClient, collector: Receiver, run: str
) -> None:
    topics = {"commandTopic": f"{run}-commands", "replyTopic": f"{run}-replies"}
    await saved(
        client, "order", {"id": "charge", "type": "KAFKA_COMMAND", "config": {**topics, "command": {}}}
    )
    begun = await client.post("/api/workflow/execute", json={"key": "order"})
    command = await command_of(client, begun.json()["executionId"])
    ids = {"X-Correlation-ID": command["correlationId"], "X-Error-Message": "hunter2 is no card"}
    await publish(client, f"{run}-replies", {}, **ids)
    spans = await collector.named("order", "charge", "receive reply")
    assert all(span.failed and span.attributes["error.type"] == "CommandError" for span in spans.values())
    assert len({span.trace for span in spans.values()}) == 1
    assert not any(b"hunter2" in body for body in collector.bodies)
