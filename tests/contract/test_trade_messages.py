"""The trade lifecycle, step by step: what is told to other programs after each event, letter for letter."""

import hashlib
import json
from collections.abc import AsyncIterator
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select

from muster.store.database import Database
from muster.store.tables import outbox_message
from stage_schemas import validator
from watch_house import NOON, WatchHouse, event
from watch_lives import live_through_everything
from watched_trade import TRADE

NORMALIZED, MISSED, EVALUATED, TRIGGERED = NAMES = (
    "events.normalized",
    "synthetic.missed",
    "rule.evaluated",
    "alerts.triggered",
)
GROUP = {"book": "EQD", "region": "NY"}
HASH = hashlib.sha256(b"book=EQD|region=NY").hexdigest()[:32]


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database, wanted=NAMES)
    yield made
    await made.close()


async def told(house: WatchHouse) -> list[tuple[str, str, dict[str, Any]]]:
    """Topic, key and value of what was told since the last time, each as its schema says."""
    m = outbox_message.c
    wanted = select(m.topic, m.key, m.value).order_by(m.id)
    rows = await house.database.read(lambda connection: connection.execute(wanted).all())
    await house.database.write(lambda connection: connection.execute(delete(outbox_message)))
    found = [(row.topic, row.key.decode(), json.loads(row.value)) for row in rows]
    for topic, _, value in found:
        validator(topic).validate(value)
    return found


def stamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


async def take(house: WatchHouse, id_: str, type_: str, source: str, after: timedelta, lag: int) -> Any:
    """Let an event of the trade come, so many seconds after it happened; what is told of it."""
    happened = NOON + after
    received = happened + timedelta(seconds=lag)
    await house.take(
        event(
            type_,
            at=happened,
            event_id=id_,
            source_system=source,
            received_at=received,
            workflow_keys=("trade-lifecycle",),
        )
    )
    normalized, *others = await told(house)
    assert normalized == (
        NORMALIZED,
        "TR123",
        {
            "eventId": id_,
            "sourceSystem": source,
            "eventType": type_,
            "eventTime": stamp(happened),
            "receivedAt": stamp(received),
            "workflowKey": "trade-lifecycle",
            "correlationKey": "TR123",
            "group": GROUP,
        },
    )
    return others


def evaluated(version: int, run: int, node: str, at: str, received: str, **changes: Any) -> Any:
    whole = {
        "workflowVersionId": version,
        "workflowRunId": run,
        "node": node,
        "correlationKey": "TR123",
        "status": "green",
        "late": False,
        "orderViolation": False,
        "completedDelta": 1,
        "lateDelta": 0,
        "failedDelta": 0,
        "inFlightDeltas": {},
        "groupHash": HASH,
        "group": GROUP,
        "eventTime": at,
        "receivedAt": received,
    }
    return EVALUATED, "TR123", {**whole, **changes}


async def test_a_trade_is_told_of_step_by_step(house: WatchHouse) -> None:
    version = await house.watch({**deepcopy(TRADE), "optionalEdges": "watch"})

    others = await take(house, "e1", "TRADE_INGEST", "sys1", timedelta(0), 2)
    [run] = [each["id"] for each in await house.runs()]
    day = "2024-06-10T12:"
    first = evaluated(
        version, run, "ingest", f"{day}00:00Z", f"{day}00:02Z", inFlightDeltas={"sys2-verify": 2}
    )
    assert others == [first]

    others = await take(house, "e2", "SYS2_VERIFIED", "sys2", timedelta(minutes=2), 1)
    change = {"sys2-verify": -1, "sys3-ack": 1}
    assert others == [
        evaluated(version, run, "sys2-verify", f"{day}02:00Z", f"{day}02:01Z", inFlightDeltas=change)
    ]

    others = await take(house, "e3", "SYS2_VERIFIED", "sys2", timedelta(minutes=2, seconds=5), 1)
    change = {"sys2-verify": -1}
    assert others == [
        evaluated(version, run, "sys2-verify", f"{day}02:05Z", f"{day}02:06Z", inFlightDeltas=change)
    ]

    others = await take(house, "e4", "SYS3_ACK", "sys3", timedelta(minutes=4), 1)
    change = {"sys3-ack": -1}
    assert others == [
        evaluated(version, run, "sys3-ack", f"{day}04:00Z", f"{day}04:01Z", inFlightDeltas=change)
    ]

    assert await house.due.fire(100) == 1
    expected = (await house.expectations())[-1]
    fired = stamp(expected["fired_at"])
    missed, counted, triggered = await told(house)
    assert missed == (
        MISSED,
        "sys4-settle",
        {
            "expectationId": expected["id"],
            "workflowRunId": run,
            "fromNode": "sys3-ack",
            "toNode": "sys4-settle",
            "dueAt": "2024-06-10T08:00:00Z",
            "severity": "amber",
            "dedupeKey": f"exp-{expected['id']}-1718006400000",
        },
    )
    assert counted == evaluated(
        version,
        run,
        "sys4-settle",
        "2024-06-10T08:00:00Z",
        fired,
        status="amber",
        late=True,
        completedDelta=0,
        lateDelta=1,
    )
    assert triggered == (
        TRIGGERED,
        f"{version}:sys4-settle:TR123",
        {
            "dedupeKey": f"{version}:sys4-settle:TR123",
            "workflowVersionId": version,
            "workflowRunId": run,
            "node": "sys4-settle",
            "correlationKey": "TR123",
            "severity": "amber",
            "reason": "EXPECTED_MISSED",
            "triggeredAt": fired,
        },
    )
    assert await house.due.fire(100) == 0
    assert await told(house) == []


async def test_an_event_that_comes_again_is_told_of_once(house: WatchHouse) -> None:
    await house.watch()
    first = event("TRADE_INGEST")
    await house.take(first)
    assert [topic for topic, _, _ in await told(house)] == [NORMALIZED, EVALUATED]
    await house.take(first)
    assert await told(house) == []


async def test_what_is_told_adds_up_to_what_is_counted(house: WatchHouse) -> None:
    await live_through_everything(house)
    assert await house.due.abandon(100) > 0
    counted = await house.totals()
    sums: dict[str, list[int]] = {node: [0, 0, 0, 0] for node in counted}
    messages = await told(house)
    for topic, key, value in messages:
        if topic == EVALUATED:
            assert key == value["correlationKey"]
            for node, change in value["inFlightDeltas"].items():
                sums[node][0] += change
            for place, name in enumerate(("completedDelta", "lateDelta", "failedDelta"), 1):
                sums[value["node"]][place] += value[name]
    assert {node: tuple(each) for node, each in sums.items()} == counted
    fired = [each["id"] for each in await house.expectations() if each["fired_at"] is not None]
    assert sorted(value["expectationId"] for topic, _, value in messages if topic == MISSED) == fired
    assert len([topic for topic, _, _ in messages if topic == NORMALIZED]) == len(await house.raw())
