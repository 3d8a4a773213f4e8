"""Batches of messages, as a consumer hands them over."""

import json
from datetime import UTC, datetime

from muster.engine.bus import Batch, Message
from muster.model.json import Json


def batch(*values: Json | bytes, topic: str) -> Batch:
    raw = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    at = datetime.now(UTC)
    return Batch([Message(topic, 0, place, None, value, (), at) for place, value in enumerate(raw)])
