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
        active = Gauge(
            "http_server_requests_active", "Requests that are being answered now.", registry=registry
        )
        active.set_function(lambda: self._active)
        self._active = 0
        # What labels lead to is remembered: looking it up takes longer than counting.
        self._of: dict[tuple[str, str | None, int], Histogram] = {}

    def began(self) -> None:
        self._active += 1

    def ended(self, method: str, route: str | None, status: int, seconds: float) -> None:
        self._active -= 1
        found = self._of.get((method, route, status)) or self._labelled(method, route, status)
        found.observe(seconds)

    def _labelled(self, method: str, route: str | None, status: int) -> Histogram:
        known = method if method in _METHODS else "OTHER"
        found = self._requests.labels(known, route or "NOT_FOUND", str(status))
        if known == method:  # whatever else callers make up is not remembered
            self._of[method, route, status] = found
        return found


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
        self._of: dict[str, Counter] = {}

    def told(self, outcome: str) -> None:
        found = self._of.get(outcome)
        if found is None:
            found = self._of[outcome] = self._fired.labels(outcome)
        found.inc()
