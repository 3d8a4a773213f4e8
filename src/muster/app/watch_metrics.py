"""What can be measured about watching."""

from collections.abc import Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge

LOOK_EVERY = 30.0


class WatchMetrics:
    """`watch.intake.IntakeObserver`, and what misses do."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._events = Counter(
            "muster_events_ingested",
            "Events that were taken in, by the way they came.",
            ["how"],
            registry=registry,
        )
        self._duplicates = Counter(
            "muster_events_duplicate", "Events that were there already.", ["how"], registry=registry
        )
        self._rejected = Counter(
            "muster_events_rejected", "Events that were not taken.", ["how"], registry=registry
        )
        self._unmatched = Counter(
            "muster_events_unmatched", "Events that concern no watched workflow.", registry=registry
        )
        self._fired = Counter(
            "muster_expectations_fired", "Expectations that were missed.", registry=registry
        )
        self._abandoned = Counter(
            "muster_expectations_abandoned",
            "Missed expectations that nobody counts on any more.",
            registry=registry,
        )

    def took(self, events: int, duplicates: int, unmatched: int, how: str) -> None:
        self._events.labels(how).inc(events - duplicates)
        self._duplicates.labels(how).inc(duplicates)
        self._unmatched.inc(unmatched)

    def refused(self, events: int, how: str) -> None:
        self._rejected.labels(how).inc(events)

    def fired(self, count: int) -> None:
        self._fired.inc(count)

    def abandoned(self, count: int) -> None:
        self._abandoned.inc(count)


class Standing(Protocol):
    async def look(self) -> tuple[int, Mapping[str, int]]:
        """How many expectations are pending, and how many alerts there are, by state."""
        ...


class StandingGauges:
    """How things stand, of all instances together."""

    def __init__(self, standing: Standing, registry: CollectorRegistry) -> None:
        self._standing = standing
        self._pending = Gauge(
            "muster_expectations_pending", "Events that are expected by a time.", registry=registry
        )
        self._alerts = Gauge(
            "muster_alerts", "Alerts that are not resolved, by state.", ["state"], registry=registry
        )

    async def measure(self) -> float:
        """Look once; when to come again."""
        pending, alerts = await self._standing.look()
        self._pending.set(pending)
        for state, count in alerts.items():
            self._alerts.labels(state).set(count)
        return LOOK_EVERY
