"""The stages of watching, each in a house of its own: together they come to what one house comes to. And what
they say to each other is as its schemas say."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from databases import MigratedUrls, fresh_database, server_of
from muster.app.build import House, opened
from muster.app.bus import kafka_of
from muster.app.settings import KafkaSettings, Settings
from muster.engine.bus import Message
from muster.store.database import Database
from muster.store.open import open_database
from muster.store.tables import alert, event_raw, stage_aggregate
from polling import until
from stage_schemas import validator
from watch_topics import NAMES, topics_of_ones_own
from watched_trade import TRADE


def event(type_: str, key: str, at: str | None = None) -> dict[str, Any]:
    return {
        "eventId": f"{type_}-{key}-{uuid4().hex[:6]}",
        "sourceSystem": "s",
        "eventType": type_,
        "eventTime": at or datetime.now(UTC).isoformat(),
        "correlationKey": key,
        "workflowKey": "trade-lifecycle",
        "group": {"book": "EQD", "region": "NY"},
    }


def events() -> list[dict[str, Any]]:
    """Of this moment: out of order, late before it was looked for, and missed."""
    return [
        event("TRADE_INGEST", "TR1"),
        event("SYS2_VERIFIED", "TR1"),
        event("SYS2_VERIFIED", "TR1"),
        event("SYS3_ACK", "TR1"),
        event("SYS3_ACK", "TR2"),
        event("TRADE_INGEST", "TR3", "2024-06-10T12:00:00Z"),
    ]


TOTALS = {"ingest": (0, 2, 0, 0), "sys2-verify": (2, 2, 2, 0), "sys3-ack": (0, 2, 0, 1)}
ALERTS = {("TR2", "ORDER_VIOLATION"), ("TR3", "EXPECTED_MISSED")}


async def sent(house: House, events: Sequence[dict[str, Any]]) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1"
    ) as client:
        made = await client.post("/workflows", json=TRADE)
        assert made.status_code == 201, made.text
        answered = await client.post("/ingest", json=list(events))
        assert answered.status_code == 202, answered.text


async def totals(database: Database) -> dict[str, tuple[int, int, int, int]]:
    rows = await database.read(lambda connection: connection.execute(select(stage_aggregate)).all())
    found: dict[str, list[int]] = {}
    for row in rows:
        held = found.setdefault(row.node_key, [0, 0, 0, 0])
        for place, name in enumerate(("in_flight", "completed", "late", "failed")):
            held[place] += getattr(row, name)
    return {node: (a, b, c, d) for node, (a, b, c, d) in found.items()}


async def alerts(database: Database) -> set[tuple[str, str]]:
    chosen = select(alert.c.correlation_key, alert.c.reason)
    rows = await database.read(lambda connection: connection.execute(chosen).all())
    return {(row.correlation_key, row.reason) for row in rows}


async def comes_to_the_same(database: Database) -> None:
    async def is_so() -> bool:
        return await totals(database) == TOTALS and await alerts(database) == ALERTS

    await until(is_so, every=0.1)


@pytest.mark.postgres
async def test_stages_in_houses_of_their_own_come_to_the_same(
    request: pytest.FixtureRequest, templates: MigratedUrls
) -> None:
    like = await asyncio.to_thread(templates.of, "postgres")
    async with (
        fresh_database("postgres", server_of("postgres", request), like=like) as url,
        AsyncExitStack() as stack,
    ):
        houses = [
            await stack.enter_async_context(opened(Settings.model_validate(_of(stages, url))))
            for stages in ("ingest", "rule", "aggregate,alert")
        ]
        await sent(houses[0], given := events())
        database = open_database(url)
        await comes_to_the_same(database)
        rows = await database.read(lambda connection: connection.execute(select(event_raw.c.id)).all())
        assert len(rows) == len(given)
        await late_arrivals_resolve(houses[0], database)
        await database.close()


async def late_arrivals_resolve(house: House, database: Database) -> None:
    """Who opens alerts hears of no arrivals, and resolves them all the same."""
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1"
    ) as client:
        late = [event("SYS2_VERIFIED", "TR3") for _ in range(2)]
        assert (await client.post("/ingest", json=late)).status_code == 202

    async def is_resolved() -> bool:
        chosen = select(alert.c.state).where(alert.c.correlation_key == "TR3")
        states = await database.read(lambda connection: connection.scalars(chosen).all())
        return states == ["resolved"]

    await until(is_resolved, every=0.1)


def _of(stages: str, url: str) -> dict[str, Any]:
    return {"database": {"url": url}, "instance_id": stages, "watch": {"stages": stages}}


@pytest.fixture
def kafka(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Settings, dict[str, str]]:
    settings, named = topics_of_ones_own(request.getfixturevalue("kafka_bootstrap"))
    return Settings.model_validate({"data_dir": str(tmp_path), **settings}), named


async def heard(settings: KafkaSettings, topics: Sequence[str], count: int) -> list[Message]:
    """So many messages of these topics, once they are there."""
    bus = kafka_of(settings, "listener")
    member = bus.member(f"listener-{uuid4().hex[:8]}")
    await member.subscribe(topics)
    found: list[Message] = []

    async def enough() -> bool:
        found.extend(await member.fetch(500, 1.0))
        return len(found) >= count

    try:
        await until(enough)
    finally:
        await member.leave()
        await bus.close()
    return found


@pytest.mark.kafka
async def test_messages_are_as_their_schemas_say_and_each_is_there_once(
    kafka: tuple[Settings, dict[str, str]],
) -> None:
    settings, named = kafka
    async with opened(settings) as house:
        await sent(house, events())
        database = open_database(None, data_dir=settings.data_dir)
        await comes_to_the_same(database)
        # Each event was normalised and evaluated; two were missed; three alerts were triggered.
        messages = await heard(settings.kafka, [named[name] for name in NAMES], 6 + 2 + (6 + 2) + 3)
        by_topic = {topic: name for name, topic in named.items()}
        told: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
        for message in messages:
            name, value = by_topic[message.topic], json.loads(message.value or b"")
            validator(name).validate(value)
            told[name].append(value)
            key = {"synthetic.missed": "toNode", "alerts.triggered": "dedupeKey"}.get(name, "correlationKey")
            assert message.key == value[key].encode()
        assert [len(told[name]) for name in NAMES] == [6, 2, 8, 3]
        assert {missed["toNode"] for missed in told["synthetic.missed"]} == {"sys2-verify"}
        await database.close()


@pytest.mark.kafka
async def test_events_come_by_kafka_and_what_is_none_goes_to_its_own_topic(
    kafka: tuple[Settings, dict[str, str]],
) -> None:
    settings, named = kafka
    async with (
        opened(settings) as house,
        httpx.AsyncClient(transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1") as client,
    ):
        made = await client.post("/workflows", json=TRADE)
        assert made.status_code == 201, made.text

        body = [{"key": each["correlationKey"], "value": each} for each in events()]

        large = {**event("TRADE_INGEST", "TR9"), "payload": {"text": "x" * 300_000}}
        wide = {**event("TRADE_INGEST", "TR9"), "group": {"book": "x" * 5_000}}
        bad = [{"eventType": "X"}, large, wide, "no object"]

        async def published() -> bool:
            # The topic is made by the house, which takes a moment.
            messages = [*body, *({"key": "k", "value": each} for each in bad)]
            answer = await client.post(f"/api/messages/{named['events.raw']}", json=messages)
            return answer.status_code == 202

        await until(published, every=0.2)
        database = open_database(None, data_dir=settings.data_dir)
        await comes_to_the_same(database)
        letters = await heard(settings.kafka, [named["events.dlq"]], len(bad))
        assert [json.loads(each.value or b"") for each in letters] == bad
        assert [(each.header("X-Error-Type") or b"").decode() for each in letters] == [
            "INVALID_EVENT",
            "TOO_LARGE",
            "TOO_LARGE",
            "INVALID_EVENT",
        ]
        reasons = [(each.header("X-Error-Message") or b"").decode() for each in letters]
        for reason, told in zip(reasons, ("correlationKey", "payload", "group", "object"), strict=True):
            assert told in reason
        await database.close()


@pytest.mark.kafka
async def test_an_execution_of_ours_is_watched_by_way_of_kafka(
    kafka: tuple[Settings, dict[str, str]],
) -> None:
    settings, named = kafka
    nodes = [{"id": each, "type": "NOOP", "config": {}} for each in ("take", "ship")]
    routing = [{"type": "goto", "from": "take", "to": "ship", "maxLatencySec": 3600}]
    orders = {"key": "orders", "name": "Orders", "instituteId": "ACME", "nodes": nodes, "routing": routing}
    async with (
        opened(settings) as house,
        httpx.AsyncClient(transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1") as client,
    ):
        saved = await client.post("/api/workflow", json={"workflow": orders})
        assert saved.status_code == 201, saved.text
        begun = await client.post("/api/workflow/execute", json={"key": "orders", "context": {}})
        execution = begun.json()["executionId"]

        async def finished() -> Any:
            item = await client.get(f"/items/{execution}")
            return item.status_code == 200 and item.json()["finishedAt"] and item.json()

        item = await until(finished, every=0.1)
        assert [each["node"] for each in item["events"]] == ["take", "ship"]
        assert (item["status"], item["expectations"], item["alerts"]) == ("green", [], [])
        told = await heard(settings.kafka, [named["events.normalized"]], 2)
        assert [json.loads(each.value or b"")["eventType"] for each in told] == ["orders.take", "orders.ship"]
        assert {each.key for each in told} == {execution.encode()}
        assert {each.header("X-Institute-Id") for each in told} == {b"ACME"}
