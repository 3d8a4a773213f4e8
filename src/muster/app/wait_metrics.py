"""What Prometheus is told of waits for events. Labels are bounded: sources, and what came of them."""

from prometheus_client import CollectorRegistry, Counter

from muster.engine.event_waits import Accepted, Arrived, NearMiss, Verdict


class WaitMetrics:
    """A `nodes.event_waiting.ArrivalObserver` that counts."""

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
            "Events that came for a wait which another one had completed, or its deadline ended.",
            registry=registry,
        )

    def arrived(self, event: Arrived, verdict: Verdict) -> None:
        if isinstance(verdict, Accepted):
            self._events.labels(event.source.value, "accepted").inc()
            self._resumes.inc(verdict.completes)
            return
        self._events.labels(event.source.value, verdict.reason.value.lower()).inc()
        self._conflicts.inc(verdict.near is NearMiss.LATE)
