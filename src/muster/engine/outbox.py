"""The outbox: messages that are kept with what they tell of, and published from there."""

from dataclasses import dataclass
from enum import StrEnum

from muster.engine.bus import Headers


class Stream(StrEnum):
    """What is published in order, one after the other: who floods one keeps nobody in another waiting."""

    EXECUTIONS = "executions"
    WATCH = "watch"


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message that is published once what it is written with is committed: exactly once, after all that
    were committed to its stream before. One with an `id` that is there already is not written again.

    `reference` is the sender's: whoever gave it is told, by it, that the message was published or refused.
    """

    id: str
    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    reference: str | None = None
    institute_id: str = ""
    stream: Stream = Stream.EXECUTIONS
