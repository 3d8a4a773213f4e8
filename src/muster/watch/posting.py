"""Messages of the stages, gathered while a batch is decided."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field

import orjson

from muster.engine.announcing import told_headers
from muster.engine.outbox import OutgoingMessage, Stream
from muster.model.json import JsonObject


@dataclass(frozen=True, slots=True)
class TopicNames:
    raw: str = "events.raw"
    normalized: str = "events.normalized"
    missed: str = "synthetic.missed"
    evaluated: str = "rule.evaluated"
    triggered: str = "alerts.triggered"


@dataclass(slots=True)
class Post:
    """What is to be published with a batch, in its order; of topics that nobody wants, nothing."""

    topics: TopicNames
    wanted: Collection[str]
    messages: list[OutgoingMessage] = field(default_factory=list)

    def wants(self, topic: str) -> bool:
        return topic in self.wanted

    def add(
        self,
        topic: str,
        key: str,
        told: JsonObject,
        institute_id: str,
        *names: object,
        trace: str | None = None,
    ) -> None:
        """`names` tell the message from all others of its topic, whoever writes it how often. `trace` is the
        `traceparent` that it goes on with."""
        name = hashlib.sha256("\0".join(map(str, (topic, institute_id, *names))).encode()).hexdigest()[:32]
        message = OutgoingMessage(
            id=name,
            topic=topic,
            value=orjson.dumps(told),
            key=key.encode(),
            headers=told_headers(institute_id, trace),
            institute_id=institute_id,
            stream=Stream.WATCH,
        )
        self.messages.append(message)
