"""What Prometheus is told of waits for events. Labels are bounded: sources, and what came of them. How long
waits take is `muster_node_seconds` of their type."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge

from muster.engine.event_waits import Accepted, Arrived, Verdict, WaitStatus
from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.observer import Nobody
from muster.engine.owned import Checkpoint
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.model.execution import NodeStatus
from muster.model.json import Json
from muster.store.database import CommitUnknown, Unavailable

LOOK_EVERY = 15.0
NODE_TYPE = "WAIT_EVENTS"
KNOWN = frozenset({"api_response", "kafka_event"})


class WaitMetrics(Nobody):
    """A `nodes.event_waiting.ArrivalObserver`, and an observer of executions, that counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._events = Counter(
            "muster_wait_events",
            "Events that came for waits, by where they came from and what became of them.",
            ("source", "outcome"),
            registry=registry,
        )
        self._resumes = Counter(
            "muster_wait_resumes", "Waits that an event completed on this instance.", registry=registry
        )
        self._conflicts = Counter(
            "muster_wait_resume_conflicts",
            "Events that came while their wait was open, and found that another had completed it, or its "
            "deadline ended it, meanwhile.",
            registry=registry,
        )
        self._parked = Counter(
            "muster_waits_parked", "Waits on which this instance has parked executions.", registry=registry
        )
        self._ends = Counter(
            "muster_wait_ends",
            "Waits from which executions went on here, or failed, by how they ended.",
            ("outcome",),
            registry=registry,
        )
        # From 0 on: the first that runs out is a rise, too.
        for outcome in (WaitStatus.COMPLETED, WaitStatus.TIMEOUT, WaitStatus.FAILED):
            self._ends.labels(outcome.value)
        self._first = Counter(
            "muster_wait_first_event",
            "Which event came first to waits that ended.",
            ("event",),
            registry=registry,
        )

    def met(self, taken: Sequence[tuple[Arrived, Accepted]]) -> None:
        """These were kept, and have met their waits just now."""
        for event, accepted in taken:
            self._accepted(event, accepted)

    def arrived(self, event: Arrived, verdict: Verdict, came_at: datetime) -> None:
        if isinstance(verdict, Accepted):
            self._accepted(event, verdict)
            return
        self._events.labels(event.source.value, verdict.reason.value.lower()).inc()
        # One that comes when all is over is late, and in nobody's way.
        self._conflicts.inc(verdict.over_since is not None and verdict.over_since >= came_at)

    def _accepted(self, event: Arrived, accepted: Accepted) -> None:
        self._events.labels(event.source.value, "accepted").inc()
        self._resumes.inc(accepted.completes)

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        for row in rows:
            if live.program.steps[row.node].type != NODE_TYPE:
                continue
            if row.completed_at is not None:
                self._count(row.output)
            self._parked.inc(row.status is NodeStatus.WAITING_FOR_EVENTS)

    def _count(self, output: Json) -> None:
        """What a visit came to that went on, or failed, with what it had by then."""
        received = output.get("receivedEvents") if isinstance(output, dict) else None
        if not isinstance(output, dict) or not isinstance(received, list):
            return
        self._ends.labels(WaitStatus(str(output["status"])).value).inc()
        if received:
            self._first.labels(str(received[0]) if received[0] in KNOWN else "other").inc()


class Standing(Protocol):
    async def standing(self) -> tuple[int, timedelta]:
        """How many waits there are, and how old the oldest is."""
        ...


@asynccontextmanager
async def counting_waits(waits: Standing, registry: CollectorRegistry) -> AsyncIterator[None]:
    """Look now and then until the end of the block."""
    active = Gauge("muster_waits_active", "Waits for events, of all instances together.", registry=registry)
    oldest = Gauge("muster_waits_oldest_seconds", "How old the oldest of them is.", registry=registry)
    look = partial(_look, waits, active, oldest)
    running = asyncio.create_task(Loop("waits", look, (Unavailable, CommitUnknown)).run())
    try:
        yield
    finally:
        await ended(running)


async def _look(waits: Standing, active: Gauge, oldest: Gauge) -> float:
    count, age = await waits.standing()
    active.set(count)
    oldest.set(age.total_seconds())
    return LOOK_EVERY
