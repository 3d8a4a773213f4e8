"""Trades and allocations, event by event: what every caller is answered after each of them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from databases import EVERY_KIND, Kind, MigratedUrls, fresh_database, server_of
from muster.app.build import opened
from muster.app.settings import Settings
from muster.store.open import open_database
from polling import until
from watch_house import WatchHouse
from watch_topics import topics_of_ones_own
from watched_trade import EQUITY, TRADE

NEW_YORK, LONDON = {"book": "EQD", "region": "NY"}, {"book": "EQD", "region": "LN"}
# Nothing fires unless a test lets it; then nothing is held back.
BY_HAND = {"ruleengine": {"scheduler_enabled": False}, "watch": {"outage_grace": 0}}
# In flight, completed, late and failed.
Counts = dict[str, tuple[int, int, int, int]]


def hash_of(**group: str) -> str:
    text = "|".join(f"{name}={group[name]}" for name in sorted(group))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass
class Desk:
    """Somebody who asks over HTTP, and sends events that way, or to a `topic`."""

    client: httpx.AsyncClient
    watch: WatchHouse
    topic: str | None = None

    async def save(self, document: dict[str, Any]) -> int:
        made = await self.client.post("/workflows", json=document)
        assert made.status_code == 201, made.text
        version: int = made.json()["versionId"]
        return version

    async def send(self, type_: str, key: str, workflow: str = "trade-lifecycle", **changes: Any) -> None:
        told = {
            "eventType": type_,
            "eventTime": datetime.now(UTC).isoformat(),
            "correlationKey": key,
            "sourceSystem": "sys",
            "workflowKey": workflow,
            "group": NEW_YORK,
            **changes,
        }
        if self.topic is not None:
            await self._publish({"eventId": uuid4().hex, **told})
            return
        answered = await self.client.post("/ingest", json=told)
        assert answered.status_code == 202, answered.text
        assert answered.json()["duplicate"] is False

    async def _publish(self, told: dict[str, Any]) -> None:
        """Let it come by the topic; it has come when its item shows it."""
        messages = [{"key": told["correlationKey"], "value": told}]

        async def is_taken() -> bool:
            # The topic is made by the house, which takes a moment.
            put = await self.client.post(f"/api/messages/{self.topic}", json=messages)
            return put.status_code == 202

        async def is_shown() -> bool:
            item = await self.client.get(f"/items/{told['correlationKey']}")
            events = item.json()["events"] if item.status_code == 200 else ()
            return any(each["eventId"] == told["eventId"] for each in events)

        await until(is_taken, every=0.2)
        await until(is_shown)

    async def get(self, path: str, **query: object) -> Any:
        answered = await self.client.get(path, params={name: str(value) for name, value in query.items()})
        assert answered.status_code == 200, answered.text
        return answered.json()

    async def counts(self, version: int, group_hash: str) -> Counts:
        """As the wallboard and the version's buckets say with one voice."""
        board = await self.get("/wallboard")
        [workflow] = [each for each in board["workflows"] if each["versionId"] == version]
        groups = {each["groupHash"]: each["nodes"] for each in workflow["groups"]}
        names = ("inFlight", "completed", "late", "failed")
        tiles = {tile["node"]: tuple(tile[name] for name in names) for tile in groups.get(group_hash, ())}
        shown: Counts = {node: counts for node, counts in tiles.items() if any(counts)}
        assert await self._buckets(version, group_hash) == shown
        return shown

    async def _buckets(self, version: int, group_hash: str) -> Counts:
        page = await self.get(f"/workflows/{version}/aggregates", groupHash=group_hash)
        found: Counts = {}
        for each in page["items"]:  # the newest first: what is in flight is the total by then
            in_flight, *others = found.get(each["node"], (each["inFlight"], 0, 0, 0))
            added = (each["completed"], each["late"], each["failed"])
            found[each["node"]] = (in_flight, *map(sum, zip(others, added, strict=True)))
        return {node: counts for node, counts in found.items() if any(counts)}

    async def item(self, key: str) -> tuple[str, list[str], list[str], list[str]]:
        """Its status, the nodes that came, those that are still to come, and why it is alerted."""
        told = await self.get(f"/items/{key}")
        return (
            told["status"],
            [each["node"] for each in told["events"]],
            [each["toNode"] for each in told["expectations"]],
            [each["reason"] for each in told["alerts"]],
        )


@pytest.fixture(params=[*EVERY_KIND, pytest.param("kafka", marks=pytest.mark.kafka)])
async def desk(request: pytest.FixtureRequest, templates: MigratedUrls) -> AsyncIterator[Desk]:
    """On every database, with events over HTTP; and on Kafka."""
    settings, topic = dict[str, Any](), None
    if request.param == "kafka":
        settings, named = topics_of_ones_own(request.getfixturevalue("kafka_bootstrap"))
        topic = named["events.raw"]
    kind: Kind = "sqlite" if request.param == "kafka" else request.param
    like = "" if kind == "mariadb" else await asyncio.to_thread(templates.of, kind)
    settings["ruleengine"] = {**settings.get("ruleengine", {}), **BY_HAND["ruleengine"]}
    settings["watch"] = BY_HAND["watch"]
    async with (
        fresh_database(kind, server_of(kind, request), like=like) as url,
        opened(Settings.model_validate({"database": {"url": url}, **settings})) as house,
        httpx.AsyncClient(transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1") as client,
    ):
        beside = open_database(url)
        watch = WatchHouse(beside, grace=timedelta(0))
        yield Desk(client, watch, topic)
        await watch.close()
        await beside.close()


async def test_a_trade_goes_through_step_by_step(desk: Desk) -> None:
    version = await desk.save({**deepcopy(TRADE), "optionalEdges": "watch"})
    group = hash_of(**NEW_YORK)

    await desk.send("TRADE_INGEST", "TR123", eventId="e1")
    assert await desk.counts(version, group) == {"ingest": (0, 1, 0, 0), "sys2-verify": (2, 0, 0, 0)}
    assert await desk.item("TR123") == ("green", ["ingest"], ["sys2-verify"] * 2, [])

    await desk.send("SYS2_VERIFIED", "TR123", eventId="e2")
    assert await desk.counts(version, group) == {
        "ingest": (0, 1, 0, 0),
        "sys2-verify": (1, 1, 0, 0),
        "sys3-ack": (1, 0, 0, 0),
    }
    came = ["ingest", "sys2-verify"]
    assert await desk.item("TR123") == ("green", came, ["sys2-verify", "sys3-ack"], [])

    await desk.send("SYS2_VERIFIED", "TR123", eventId="e3")
    assert await desk.counts(version, group) == {
        "ingest": (0, 1, 0, 0),
        "sys2-verify": (0, 2, 0, 0),
        "sys3-ack": (1, 0, 0, 0),
    }
    came.append("sys2-verify")
    assert await desk.item("TR123") == ("green", came, ["sys3-ack"], [])

    # Of yesterday, so that what it expects by 08:00 was due then.
    yesterday = (datetime.now(UTC) - timedelta(days=1)).replace(hour=12)
    await desk.send("SYS3_ACK", "TR123", eventId="e4", eventTime=yesterday.isoformat())
    settled: Counts = {
        "ingest": (0, 1, 0, 0),
        "sys2-verify": (0, 2, 0, 0),
        "sys3-ack": (0, 1, 0, 0),
    }
    assert await desk.counts(version, group) == settled
    came.append("sys3-ack")
    assert await desk.item("TR123") == ("green", came, ["sys4-settle"], [])
    [expected] = (await desk.get("/items/TR123"))["expectations"]
    assert datetime.fromisoformat(expected["dueAt"]) == yesterday.replace(
        hour=8, minute=0, second=0, microsecond=0
    )
    assert (expected["optional"], expected["status"]) == (True, "pending")
    assert (await desk.get("/alerts"))["items"] == []

    assert await desk.watch.due.fire(100) == 1
    assert await desk.counts(version, group) == {**settled, "sys4-settle": (0, 0, 1, 0)}
    assert await desk.item("TR123") == ("amber", came, ["sys4-settle"], ["EXPECTED_MISSED"])
    [alert] = (await desk.get("/alerts", state="open"))["items"]
    told = ("dedupeKey", "workflowVersionId", "node", "correlationKey", "severity", "reason", "count")
    assert {name: alert[name] for name in told} == {
        "dedupeKey": f"{version}:sys4-settle:TR123",
        "workflowVersionId": version,
        "node": "sys4-settle",
        "correlationKey": "TR123",
        "severity": "amber",
        "reason": "EXPECTED_MISSED",
        "count": 1,
    }
    board = await desk.get("/wallboard")
    assert [each["status"] for each in board["workflows"]] == ["amber"]


async def test_without_it_an_optional_edge_expects_nothing(desk: Desk) -> None:
    version = await desk.save(TRADE)
    for type_ in ("TRADE_INGEST", "SYS2_VERIFIED", "SYS2_VERIFIED", "SYS3_ACK"):
        await desk.send(type_, "TR123")
    assert (await desk.item("TR123"))[2] == []
    assert await desk.watch.due.fire(100) == 0
    await desk.send("SYS4_SETTLED", "TR123")
    assert (await desk.counts(version, hash_of(**NEW_YORK)))["sys4-settle"] == (0, 1, 0, 0)
    assert (await desk.get("/items/TR123"))["finishedAt"] is not None


async def test_trades_and_allocations_do_not_touch_each_other(desk: Desk) -> None:
    trade, equity = await desk.save(TRADE), await desk.save(EQUITY)
    group = {"desk": "D1", "region": "NY"}
    of_equity = hash_of(**group)
    to_equity: dict[str, Any] = {"workflow": "equity-flow", "group": group}

    await desk.send("TRADE_INGEST", "TR123")
    traded: Counts = {"ingest": (0, 1, 0, 0), "sys2-verify": (2, 0, 0, 0)}
    waiting = ("green", ["ingest"], ["sys2-verify"] * 2, [])
    assert await desk.counts(trade, hash_of(**NEW_YORK)) == traded
    assert await desk.item("TR123") == waiting
    assert await desk.counts(equity, of_equity) == {}

    await desk.send("EQUITY_ALLOC", "EQ-555", **to_equity)
    allocated: Counts = {"alloc-received": (0, 1, 0, 0), "alloc-validated": (1, 0, 0, 0)}
    assert await desk.counts(equity, of_equity) == allocated
    assert await desk.counts(trade, hash_of(**NEW_YORK)) == traded
    came = ["alloc-received"]
    assert await desk.item("EQ-555") == ("green", came, ["alloc-validated"], [])
    assert await desk.item("TR123") == waiting

    # It is validated in time, but happened so long ago that it should have been booked by now.
    earlier = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    await desk.send("EQUITY_VALIDATED", "EQ-555", eventTime=earlier, **to_equity)
    allocated |= {"alloc-validated": (0, 1, 0, 0), "alloc-booked": (1, 0, 0, 0)}
    assert await desk.counts(equity, of_equity) == allocated
    came.append("alloc-validated")
    assert await desk.item("EQ-555") == ("green", came, ["alloc-booked"], [])
    assert (await desk.get("/alerts"))["items"] == []

    await desk.send("EQUITY_BOOKED", "EQ-555", **to_equity)
    assert await desk.counts(equity, of_equity) == {**allocated, "alloc-booked": (0, 1, 1, 0)}
    assert await desk.item("TR123") == waiting
    assert await desk.counts(trade, hash_of(**NEW_YORK)) == traded, "none of it is the trade's"
    came.append("alloc-booked")
    assert await desk.item("EQ-555") == ("red", came, [], ["SLA_MISSED"])
    [alert] = (await desk.get("/alerts"))["items"]
    assert alert["dedupeKey"] == f"{equity}:alloc-booked:EQ-555"
    assert (alert["severity"], alert["reason"]) == ("red", "SLA_MISSED")
    assert (await desk.get("/alerts", workflow="trade-lifecycle"))["items"] == []
    assert (await desk.get("/items/EQ-555", workflowVersionId=equity))["workflowKey"] == "equity-flow"
    missing = await desk.client.get("/items/EQ-555", params={"workflowVersionId": trade})
    assert missing.status_code == 404


async def test_several_trades_are_counted_by_their_groups(desk: Desk) -> None:
    version = await desk.save(TRADE)
    here, there = hash_of(**NEW_YORK), hash_of(**LONDON)

    await desk.send("TRADE_INGEST", "TR123")
    begun: Counts = {"ingest": (0, 1, 0, 0), "sys2-verify": (2, 0, 0, 0)}
    waiting = ("green", ["ingest"], ["sys2-verify"] * 2, [])
    assert (await desk.counts(version, here), await desk.counts(version, there)) == (begun, {})
    assert await desk.item("TR123") == waiting

    await desk.send("TRADE_INGEST", "TR456", group=LONDON)
    assert (await desk.counts(version, here), await desk.counts(version, there)) == (begun, begun)
    assert await desk.item("TR456") == waiting

    came, left = ["ingest"], (["sys2-verify", "sys3-ack"], ["sys3-ack"])
    for verified, to_come in enumerate(left, 1):
        await desk.send("SYS2_VERIFIED", "TR123")
        assert await desk.counts(version, here) == {
            "ingest": (0, 1, 0, 0),
            "sys2-verify": (2 - verified, verified, 0, 0),
            "sys3-ack": (1, 0, 0, 0),
        }
        assert await desk.counts(version, there) == begun
        came.append("sys2-verify")
        assert await desk.item("TR123") == ("green", came, to_come, [])
        assert await desk.item("TR456") == waiting

    await desk.send("TRADE_INGEST", "TR789")
    assert await desk.counts(version, here) == {
        "ingest": (0, 2, 0, 0),
        "sys2-verify": (2, 2, 0, 0),
        "sys3-ack": (1, 0, 0, 0),
    }
    assert await desk.counts(version, there) == begun
    assert await desk.item("TR789") == waiting
    assert (await desk.get("/alerts"))["items"] == []

    item = await desk.get("/items/TR456")
    assert (item["workflowVersionId"], item["status"], item["group"]) == (version, "green", LONDON)
    assert await desk.item("TR456") == waiting
    await desk.send("SYS4_SETTLED", "TR456", group=LONDON)
    assert (await desk.item("TR456"))[3] == [], "an optional edge alone leads there"
    await desk.send("SYS3_ACK", "TR456", group=LONDON)
    assert (await desk.item("TR456"))[3] == ["ORDER_VIOLATION"]
    [alert] = (await desk.get("/alerts", state="open"))["items"]
    assert (alert["correlationKey"], alert["severity"]) == ("TR456", "red")
    assert (await desk.counts(version, there))["sys3-ack"] == (0, 1, 0, 1)
