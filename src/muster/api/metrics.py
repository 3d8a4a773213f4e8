"""What Prometheus is told of HTTP. Labels are bounded: route templates, known methods, statuses."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class HttpMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Histogram(
            "http_server_requests_seconds",
            "How long requests took, by route, method and status.",
            ("method", "uri", "status"),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._active = Gauge(
            "http_server_requests_active", "Requests that are being answered now.", registry=registry
        )

    def began(self) -> None:
        self._active.inc()

    def ended(self, method: str, route: str | None, status: int, seconds: float) -> None:
        self._active.dec()
        self._requests.labels(
            method if method in _METHODS else "OTHER", route or "NOT_FOUND", str(status)
        ).observe(seconds)


class ReportMetrics:
    """What providers have reported of messages."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._messages = Counter(
            "muster_delivery_reports",
            "Messages that providers reported on: changed by it, unchanged, or unknown here.",
            ("outcome",),
            registry=registry,
        )

    def taken(self, changed: int, unchanged: int, unknown: int) -> None:
        for outcome, count in (("changed", changed), ("unchanged", unchanged), ("unknown", unknown)):
            self._messages.labels(outcome).inc(count)


class TriggerMetrics:
    """What came of firing triggers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._fired = Counter(
            "muster_triggers",
            "Triggers that were fired, by what came of it.",
            ("outcome",),
            registry=registry,
        )

    def told(self, outcome: str) -> None:
        self._fired.labels(outcome).inc()
