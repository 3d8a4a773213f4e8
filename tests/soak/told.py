"""Ingest: events of a watched workflow, over HTTP and a topic, some twice; the end of some never comes."""

import json
from collections import Counter, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

from sqlalchemy import func, select

from muster.engine.bus import Outgoing
from muster.store import recounting
from muster.store.tables import (
    alert,
    dead_letter,
    event_occurrence,
    event_raw,
    expectation,
    stage_aggregate,
    workflow_run,
)
from soak.ground import Ground
from soak.samples import Sample, Tally
from torture.judge import Verdict, same

TOPIC = "events.raw"
RATE, CLIENTS, TOGETHER = 3.0, 8, 10
SILENT, REPEATED, POISONED = 0.02, 0.05, 0.1
SOURCE = "soak"
LATENCY = timedelta(seconds=20)
WATCHED = {
    "key": "soak-watched",
    "graph": {
        "nodes": [
            {"key": "begun", "eventType": "SOAK_BEGUN", "start": True},
            {"key": "ended", "eventType": "SOAK_ENDED"},
        ],
        "edges": [{"from": "begun", "to": "ended", "maxLatencySec": LATENCY.seconds}],
    },
}
R, X, A = event_raw.c, expectation.c, alert.c


class Told:
    """An item's two events take one way, the second once the first is acknowledged: none is out of order."""

    def __init__(self, ground: Ground) -> None:
        self._ground, self._chance = ground, ground.chance("events")
        self._open: deque[tuple[str, bool]] = deque()
        self._sent: list[str] = []
        self._silent: list[str] = []
        self._poison: list[str] = []

    async def prepare(self) -> None:
        await self._ground.door.ask("POST", "/workflows", WATCHED)

    async def keep_on(self) -> None:
        await self._ground.paced(RATE, CLIENTS, self._tell)
        while self._open:
            await self._end_some()

    async def _tell(self, number: int) -> None:
        keys = [f"item-{number}-{each}" for each in range(TOGETHER)]
        by_topic = self._chance.random() < 0.5
        await self._send([_event(key, "BEGUN") for key in keys], by_topic)
        for key in keys:
            if self._chance.random() < SILENT:
                self._silent.append(key)
            else:
                self._open.append((key, by_topic))
        if len(self._open) > CLIENTS * TOGETHER:
            await self._end_some()

    async def _end_some(self) -> None:
        some = [self._open.popleft() for _ in range(min(TOGETHER, len(self._open)))]
        for by_topic in (True, False):
            ended = [_event(key, "ENDED") for key, way in some if way is by_topic]
            if ended:
                await self._send(ended, by_topic)

    async def _send(self, events: list[dict[str, Any]], by_topic: bool) -> None:
        self._sent += [each["eventId"] for each in events]
        again = [each for each in events if self._chance.random() < REPEATED]
        if not by_topic:
            answer = await self._ground.door.ask("POST", "/ingest", [*events, *again])
            assert all(each.get("error") is None for each in answer["results"]), answer
            return
        messages = [_message(each) for each in [*events, *again]]
        if self._chance.random() < POISONED:
            self._poison.append(f"poison {len(self._poison)} {{")
            messages.append(Outgoing(TOPIC, self._poison[-1].encode()))
        await self._ground.bus.publish(messages)

    async def left(self) -> Sequence[str]:
        pending = select(func.count()).where(X.status == "pending")
        there = select(func.count()).select_from(event_raw)
        letters = select(func.count()).where(dead_letter.c.source == TOPIC)
        wanted = {pending: 0, there: len(self._sent), letters: len(self._poison)}
        found = []
        for chosen, right in wanted.items():
            number = await self._ground.database.read(lambda one, chosen=chosen: one.scalar(chosen))
            if number != right:
                found.append(f"{number}, not {right}, in {chosen.get_final_froms()[0]}")
        return found

    async def judge(self, verdict: Verdict) -> Tally:
        raw = await self._all(select(R.source_event_id, R.event_time, R.received_at))
        wanted = Counter(self._sent)
        same(verdict, wanted, Counter(row.source_event_id for row in raw), "events")
        seen = await self._all(select(event_occurrence.c.event_id, event_occurrence.c.order_violation))
        same(verdict, wanted, Counter(row.event_id for row in seen), "events in runs")
        verdict.expect_none([row.event_id for row in seen if row.order_violation], "events out of order")
        await self._judge_misses(verdict)
        await self._judge_counts(verdict)
        letters = await self._all(select(dead_letter.c.value).where(dead_letter.c.source == TOPIC))
        same(
            verdict,
            Counter(self._poison),
            Counter(str(row.value["value"]) for row in letters),
            "dead letters of events",
        )
        samples = [
            Sample(row.event_time.timestamp(), (row.received_at - row.event_time).total_seconds())
            for row in raw
        ]
        return Tally("ingest of events", len(self._sent), len(seen), samples)

    async def _judge_misses(self, verdict: Verdict) -> None:
        """Fired is what never came, with an alert that is open. What came late without having been missed has
        an alert of its own; that of a miss whose event came after all has resolved by itself."""
        rows = await self._all(
            select(workflow_run.c.correlation_key, X.status).join_from(
                expectation, workflow_run, workflow_run.c.id == X.workflow_run_id
            )
        )
        missed = Counter(row.correlation_key for row in rows if row.status != "cleared")
        same(verdict, Counter(self._silent), missed, "misses")
        alerts = await self._all(select(A.correlation_key, A.count, A.state, A.reason))
        is_open = Counter(row.correlation_key for row in alerts if _is_open(row, "EXPECTED_MISSED"))
        same(verdict, Counter(self._silent), is_open, "alerts of what is missing")
        runs = select(workflow_run.c.correlation_key).join_from(
            event_occurrence, workflow_run, workflow_run.c.id == event_occurrence.c.workflow_run_id
        )
        late = await self._all(runs.where(event_occurrence.c.counted_late))
        told = Counter(row.correlation_key for row in alerts if _is_open(row, "SLA_MISSED"))
        same(verdict, Counter(row.correlation_key for row in late), told, "alerts of what was late")
        twice = [row.correlation_key for row in alerts if row.count != 1]
        verdict.expect_none(twice, "alerts were triggered twice")

    async def _judge_counts(self, verdict: Verdict) -> None:
        with patch.object(recounting, "SETTLED", -timedelta(minutes=1)):  # all is calm: nothing is left out
            recounted = await recounting.Recounting(self._ground.database).verify()
        verdict.expect_none(recounted.differences, "counts are not what happened")
        totals = {"completed": len(self._sent), "in_flight": len(self._silent), "failed": 0}
        [row] = await self._all(select(*[func.sum(stage_aggregate.c[name]).label(name) for name in totals]))
        wrong = [
            f"{name}: {row._mapping[name]}, not {right}"
            for name, right in totals.items()
            if int(row._mapping[name] or 0) != right
        ]
        verdict.expect_none(wrong, "counts are wrong")

    async def _all(self, chosen: Any) -> Sequence[Any]:
        return await self._ground.database.read(lambda connection: connection.execute(chosen).all())


def _is_open(row: Any, reason: str) -> bool:
    return bool(row.state == "open" and row.reason == reason)


def _event(key: str, what: str) -> dict[str, Any]:
    return {
        "eventId": f"{key}-{what}",
        "sourceSystem": SOURCE,
        "eventType": f"SOAK_{what}",
        "eventTime": datetime.now(UTC).isoformat(),
        "correlationKey": key,
    }


def _message(event: dict[str, Any]) -> Outgoing:
    return Outgoing(TOPIC, json.dumps(event).encode(), event["correlationKey"].encode())
