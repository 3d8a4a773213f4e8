"""What becomes of the outbox, as Prometheus sees it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from muster.app.passes import TROUBLE
from muster.engine.outbox import OutboxRecords, Stream
from muster.engine.publishing import Queued
from muster.kit.clock import Clock
from muster.kit.loop import Loop
from muster.kit.tasks import ended

LOOK_EVERY = 15.0
SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300)


class PublishingMetrics:
    """`engine.publishing.PublishingObserver`."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self._clock, stream = clock, ("stream",)
        self._published = Counter(
            "muster_outbox_published", "Messages that were published here.", stream, registry=registry
        )
        self._seconds = Histogram(
            "muster_publish_seconds",
            "From when a message was written to when it was published.",
            stream,
            buckets=SECONDS,
            registry=registry,
        )
        self._refused = Counter(
            "muster_outbox_refused", "Messages that the bus does not take.", stream, registry=registry
        )
        self._takeovers = Counter(
            "muster_outbox_takeovers", "How often a stream was taken over here.", stream, registry=registry
        )

    def published(self, stream: Stream, batch: Sequence[Queued]) -> None:
        now, seconds = self._clock.now(), self._seconds.labels(stream)
        self._published.labels(stream).inc(len(batch))
        for queued in batch:
            seconds.observe(max(0.0, (now - queued.created_at).total_seconds()))

    def refused(self, stream: Stream, reasons: Mapping[int, str]) -> None:
        self._refused.labels(stream).inc(len(reasons))

    def took_over(self, stream: Stream) -> None:
        self._takeovers.labels(stream).inc()


class OutboxFigures:
    """How streams stand, of all instances: read from the database, so that every instance says the same."""

    def __init__(self, outbox: OutboxRecords, registry: CollectorRegistry, clock: Clock) -> None:
        self._outbox, self._clock, stream = outbox, clock, ("stream",)
        self._pending = Gauge(
            "muster_outbox_pending",
            "Messages that wait to be published, of all instances.",
            stream,
            registry=registry,
        )
        self._oldest = Gauge(
            "muster_outbox_oldest_seconds",
            "How long the oldest of them has waited.",
            stream,
            registry=registry,
        )
        self._stopped = Gauge(
            "muster_outbox_stopped",
            "1: the stream is not published, since the bus and the database contradict each other.",
            stream,
            registry=registry,
        )

    async def look(self) -> float:
        """When to look again."""
        states, now = await self._outbox.streams(), self._clock.now()
        for state in states:
            age = (now - state.oldest).total_seconds() if state.oldest is not None else 0.0
            self._pending.labels(state.stream).set(state.pending)
            self._oldest.labels(state.stream).set(max(0.0, age))
            self._stopped.labels(state.stream).set(state.problem is not None)
        return LOOK_EVERY


@asynccontextmanager
async def counting_outbox(figures: OutboxFigures) -> AsyncIterator[None]:
    """Look now and then until the end of the block."""
    running = asyncio.create_task(Loop("outbox", figures.look, TROUBLE).run())
    try:
        yield
    finally:
        await ended(running)
