"""What Prometheus is told of commands. Topics may be computed, so only so many have a label of their own."""

from collections.abc import Mapping
from datetime import timedelta

from prometheus_client import CollectorRegistry, Counter, Histogram

MOST_TOPICS = 200
OTHERS = "other"
MILLISECONDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000, 300_000, 3_600_000)


class CommandMetrics:
    """Who counts commands (`nodes.commanding`), their replies (`nodes.command_replies`) and what was
    published of them (`store.command_sending`)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._topics: set[str] = set()
        self._sent = Counter(
            "workflow_kafka_commands_sent", "Commands that the bus has.", ("topic",), registry=registry
        )
        self._replies = Counter(
            "workflow_kafka_replies_received",
            "Replies that came, by their topic and what became of them.",
            ("topic", "status"),
            registry=registry,
        )
        self._latency = Histogram(
            "workflow_kafka_reply_latency_ms",
            "Milliseconds from a command's being sent to its reply.",
            ("topic",),
            registry=registry,
            buckets=MILLISECONDS,
        )
        self._timeouts = Counter(
            "workflow_kafka_command_timeouts",
            "Commands whose reply did not come in time.",
            ("topic",),
            registry=registry,
        )
        self._buried = Counter(
            "workflow_kafka_dead_letters",
            "Commands that went to the dead letters.",
            ("topic",),
            registry=registry,
        )

    def sent(self, topics: Mapping[str, int]) -> None:
        for topic, count in topics.items():
            self._sent.labels(self._label(topic)).inc(count)

    def received(self, topic: str, status: str, latency: timedelta | None) -> None:
        self._replies.labels(self._label(topic), status).inc()
        if latency is not None and status in ("success", "error"):
            self._latency.labels(self._label(topic)).observe(latency / timedelta(milliseconds=1))

    def timed_out(self, topic: str) -> None:
        self._timeouts.labels(self._label(topic)).inc()

    def buried(self, topics: Mapping[str, int]) -> None:
        for topic, count in topics.items():
            self._buried.labels(self._label(topic)).inc(count)

    def _label(self, topic: str) -> str:
        if topic not in self._topics and len(self._topics) >= MOST_TOPICS:
            return OTHERS
        self._topics.add(topic)
        return topic
