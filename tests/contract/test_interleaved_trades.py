"""Trades and allocations that come interleaved: rows, messages and counts after every event."""

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from muster.model.watching import Event
from muster.store.database import Database
from muster.store.tables import outbox_message
from stage_schemas import validator
from watch_house import NOON, WatchHouse, event
from watched_trade import EQUITY, TRADE

TOPICS = ("events.normalized", "synthetic.missed", "rule.evaluated", "alerts.triggered")
NEW_YORK, LONDON = {"book": "EQD", "region": "NY"}, {"book": "EQD", "region": "LN"}
DESK = {"desk": "D1", "region": "NY"}
Counts = dict[str, tuple[int, int, int, int]]


def hash_of(group: dict[str, str]) -> str:
    text = "|".join(f"{name}={value}" for name, value in sorted(group.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def stamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


@dataclass
class Steps:
    house: WatchHouse
    # Whose each key is: its workflow's version and key, and its group.
    items: dict[str, tuple[int, str, dict[str, str]]] = field(default_factory=dict)

    async def take(
        self,
        type_: str,
        key: str,
        minutes: float,
        node: str,
        changes: dict[str, int],
        late: str | None = None,
    ) -> None:
        """Let an event come; of it is told what happened at its node, and by how much what is in flight
        changed. `late`: how bad that is."""
        _, workflow, group = self.items[key]
        made = event(type_, key, at(minutes), group=group, workflow_keys=(workflow,))
        await self.house.take(made)
        told = [self._normalized(made, workflow), await self._evaluated(made, node, changes, late)]
        if late:
            told.append(await self._triggered(made, node, late))
        assert await self._told() == told

    async def _told(self) -> list[tuple[str, str, dict[str, Any]]]:
        rows = await self.house.rows(outbox_message, "id")
        await self.house.database.write(lambda connection: connection.execute(delete(outbox_message)))
        found = [(row["topic"], row["key"].decode(), json.loads(row["value"])) for row in rows]
        for topic, _, value in found:
            validator(topic).validate(value)
        return found

    def _normalized(self, made: Event, workflow: str) -> tuple[str, str, dict[str, Any]]:
        value = {
            "eventId": made.event_id,
            "sourceSystem": made.source_system,
            "eventType": made.event_type,
            "eventTime": stamp(made.event_time),
            "receivedAt": stamp(made.received_at),
            "workflowKey": workflow,
            "correlationKey": made.correlation_key,
            "group": made.group,
        }
        return "events.normalized", made.correlation_key, value

    async def _evaluated(
        self, made: Event, node: str, changes: dict[str, int], late: str
    ) -> tuple[str, str, dict[str, Any]]:
        version, _, group = self.items[made.correlation_key]
        value = {
            "workflowVersionId": version,
            "workflowRunId": await self.run(made.correlation_key),
            "node": node,
            "correlationKey": made.correlation_key,
            "status": late or "green",
            "late": bool(late),
            "orderViolation": False,
            "completedDelta": 1,
            "lateDelta": int(bool(late)),
            "failedDelta": 0,
            "inFlightDeltas": changes,
            "groupHash": hash_of(group),
            "group": group,
            "eventTime": stamp(made.event_time),
            "receivedAt": stamp(made.received_at),
        }
        return "rule.evaluated", made.correlation_key, value

    async def _triggered(self, made: Event, node: str, late: str) -> tuple[str, str, dict[str, Any]]:
        version, key = self.items[made.correlation_key][0], made.correlation_key
        value = {
            "dedupeKey": f"{version}:{node}:{key}",
            "workflowVersionId": version,
            "workflowRunId": await self.run(key),
            "node": node,
            "correlationKey": key,
            "severity": late,
            "reason": "SLA_MISSED",
            "triggeredAt": stamp(made.received_at),
        }
        return "alerts.triggered", f"{version}:{node}:{key}", value

    async def run(self, key: str) -> int:
        [found] = [run["id"] for run in await self.house.runs() if run["correlation_key"] == key]
        assert isinstance(found, int)
        return found

    async def rows(self) -> dict[str, tuple[str, list[str]]]:
        """Of each key the status of its run, and what it waits for."""
        waits: dict[int, list[str]] = {}
        for each in await self.house.expectations():
            if each["status"] == "pending":
                waits.setdefault(each["workflow_run_id"], []).append(each["to_node_key"])
        return {
            run["correlation_key"]: (run["status"], waits.get(run["id"], []))
            for run in await self.house.runs()
        }

    async def counts(self, group: dict[str, str]) -> Counts:
        return await self.house.totals(hash_of(group))


@pytest.fixture
async def steps(database: Database) -> AsyncIterator[Steps]:
    house = WatchHouse(database, wanted=TOPICS)
    yield Steps(house)
    await house.close()


async def test_trades_and_allocations_go_their_own_ways_step_by_step(steps: Steps) -> None:
    trade, equity = await steps.house.watch(TRADE), await steps.house.watch(EQUITY)
    steps.items = {
        "TR123": (trade, "trade-lifecycle", NEW_YORK),
        "EQ-555": (equity, "equity-flow", DESK),
    }
    await steps.take("TRADE_INGEST", "TR123", 0, "ingest", {"sys2-verify": 2})
    traded: Counts = {"ingest": (0, 1, 0, 0), "sys2-verify": (2, 0, 0, 0)}
    waiting = ("green", ["sys2-verify"] * 2)
    assert await steps.rows() == {"TR123": waiting}
    assert (await steps.counts(NEW_YORK), await steps.counts(DESK)) == (traded, {})

    await steps.take("EQUITY_ALLOC", "EQ-555", 0.5, "alloc-received", {"alloc-validated": 1})
    allocated: Counts = {"alloc-received": (0, 1, 0, 0), "alloc-validated": (1, 0, 0, 0)}
    assert await steps.rows() == {"TR123": waiting, "EQ-555": ("green", ["alloc-validated"])}
    assert (await steps.counts(NEW_YORK), await steps.counts(DESK)) == (traded, allocated)

    change = {"alloc-validated": -1, "alloc-booked": 1}
    await steps.take("EQUITY_VALIDATED", "EQ-555", 1, "alloc-validated", change)
    allocated |= {"alloc-validated": (0, 1, 0, 0), "alloc-booked": (1, 0, 0, 0)}
    assert await steps.rows() == {"TR123": waiting, "EQ-555": ("green", ["alloc-booked"])}
    assert (await steps.counts(NEW_YORK), await steps.counts(DESK)) == (traded, allocated)
    assert await steps.house.alerts() == []

    await steps.take("EQUITY_BOOKED", "EQ-555", 7, "alloc-booked", {"alloc-booked": -1}, late="red")
    allocated |= {"alloc-booked": (0, 1, 1, 0)}
    assert await steps.rows() == {"TR123": waiting, "EQ-555": ("red", [])}
    assert (await steps.counts(NEW_YORK), await steps.counts(DESK)) == (traded, allocated)
    [alert] = await steps.house.alerts()
    assert (alert["dedupe_key"], alert["reason"]) == (f"{equity}:alloc-booked:EQ-555", "SLA_MISSED")
    assert [run["finished_at"] for run in await steps.house.runs()] == [None, at(7)]


async def test_several_trades_go_through_one_workflow_step_by_step(steps: Steps) -> None:
    version = await steps.house.watch(TRADE)
    groups = {"TR123": NEW_YORK, "TR456": LONDON, "TR789": NEW_YORK}
    steps.items = {key: (version, "trade-lifecycle", group) for key, group in groups.items()}
    begun: Counts = {"ingest": (0, 1, 0, 0), "sys2-verify": (2, 0, 0, 0)}
    waiting = ("green", ["sys2-verify"] * 2)

    await steps.take("TRADE_INGEST", "TR123", 0, "ingest", {"sys2-verify": 2})
    assert await steps.rows() == {"TR123": waiting}
    assert (await steps.counts(NEW_YORK), await steps.counts(LONDON)) == (begun, {})

    await steps.take("TRADE_INGEST", "TR456", 0.2, "ingest", {"sys2-verify": 2})
    assert await steps.rows() == {"TR123": waiting, "TR456": waiting}
    assert (await steps.counts(NEW_YORK), await steps.counts(LONDON)) == (begun, begun)

    for verified, left in ((1, ["sys2-verify", "sys3-ack"]), (2, ["sys3-ack"])):
        change = {"sys2-verify": -1, "sys3-ack": 1} if verified == 1 else {"sys2-verify": -1}
        await steps.take("SYS2_VERIFIED", "TR123", verified, "sys2-verify", change)
        assert await steps.rows() == {"TR123": ("green", left), "TR456": waiting}
        assert await steps.counts(NEW_YORK) == {
            "ingest": (0, 1, 0, 0),
            "sys2-verify": (2 - verified, verified, 0, 0),
            "sys3-ack": (1, 0, 0, 0),
        }
        assert await steps.counts(LONDON) == begun

    await steps.take("TRADE_INGEST", "TR789", 3, "ingest", {"sys2-verify": 2})
    assert await steps.rows() == {"TR123": ("green", ["sys3-ack"]), "TR456": waiting, "TR789": waiting}
    assert await steps.counts(NEW_YORK) == {
        "ingest": (0, 2, 0, 0),
        "sys2-verify": (2, 2, 0, 0),
        "sys3-ack": (1, 0, 0, 0),
    }
    assert await steps.counts(LONDON) == begun
    assert await steps.house.alerts() == []
