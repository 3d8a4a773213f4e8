"""What becomes of messages, as Prometheus sees it."""

from collections import Counter as Tally
from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from muster.engine.bus import Message, Place, Rejected


class BusMetrics:
    """`engine.consuming.ConsumerObserver`. Topics are those that definitions and settings name."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._handled = Counter(
            "muster_messages_consumed", "Messages that were dealt with.", ("topic",), registry=registry
        )
        self._rejected = Counter(
            "muster_messages_rejected",
            "Messages that went to the dead letters.",
            ("topic", "type"),
            registry=registry,
        )
        self._lag = Gauge(
            "muster_consumer_lag",
            "Messages that wait, in the partitions that this instance has.",
            ("group", "topic", "partition"),
            registry=registry,
        )
        self._shown: dict[str, set[Place]] = {}

    def handled(self, messages: Sequence[Message]) -> None:
        for topic, count in Tally(message.topic for message in messages).items():
            self._handled.labels(topic).inc(count)

    def rejected(self, rejected: Sequence[Rejected]) -> None:
        for each in rejected:
            self._rejected.labels(each.message.topic, each.type).inc()

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        for place in self._shown.get(group, set()) - lag.keys():
            self._lag.remove(group, place.topic, str(place.partition))
        for place, count in lag.items():
            self._lag.labels(group, place.topic, str(place.partition)).set(count)
        self._shown[group] = set(lag)
