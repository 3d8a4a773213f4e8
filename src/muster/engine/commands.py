"""Commands and their replies, purely: what is kept of a command, and what a reply does to it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from muster.engine.tracing import Waiter
from muster.model.json import Json, JsonObject

CORRELATION_ID = "X-Correlation-ID"
EXECUTION_ID = "X-Workflow-Instance-ID"
STEP_ID = "X-Step-ID"
REPLY_TOPIC = "X-Reply-Topic"
TIMESTAMP = "X-Timestamp"
COMPENSATES = "X-Compensates"
# Where replies have the correlation id, if their headers have none and nothing else is said.
CORRELATION_FIELD = "correlationId"
# What the outbox is given, so that the command is told what became of its message: this, and its id.
REFERENCE = "command/"
# The same of the dead letter of a command.
BURIED = "buried-command/"
# However short its timeout is, a command that is not even sent is looked at no more often.
SHORTEST_LOOK = timedelta(seconds=1)


class CommandStatus(StrEnum):
    """It is kept, with its message; the bus has it, or does not take it, which its execution is about to
    hear; and how it ended. `CANCELLED`: nobody waits any more."""

    PENDING = "PENDING"
    SENT = "SENT"
    REFUSED = "REFUSED"
    REPLY_RECEIVED = "REPLY_RECEIVED"
    TIMEOUT = "TIMEOUT"
    ERROR = "ERROR"
    CANCELLED = "CANCELLED"


OPEN = frozenset({CommandStatus.PENDING, CommandStatus.SENT, CommandStatus.REFUSED})


@dataclass(frozen=True, slots=True)
class CommandOpening:
    """A command of one attempt at a visit. Its message goes beside it, under the same id, and is repeated
    here (`value`, `key`) where it may become a dead letter. `compensates` is the correlation id of what it
    undoes: then nobody is told of the reply, who waits for it looks."""

    id: str
    node: str
    visit: int
    attempt: int
    correlation_id: str
    workflow_id: str
    institute_id: str
    command_topic: str
    reply_topic: str
    payload: Json
    headers: JsonObject
    timeout: timedelta
    created_at: datetime
    reply_schema: JsonObject | None = None
    correlation_field: str = CORRELATION_FIELD
    key: bytes | None = None
    value: bytes | None = None
    compensates: str | None = None


@dataclass(frozen=True, slots=True)
class CommandFailed:
    """What came for a command is an error, by what its node says of replies."""

    id: str
    message: str


@dataclass(frozen=True, slots=True)
class CommandLetter:
    """A command that came to nothing, for good: it goes to a topic of dead letters, and among them."""

    id: str
    topic: str
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What came for a correlation id. With an `error` it says that the command has failed."""

    correlation_id: str
    topic: str
    payload: Json
    headers: JsonObject = field(default_factory=dict)
    error: str | None = None


class Received(StrEnum):
    """What became of a reply: it was stored, and whoever waits for it is told; it was stored, but came too
    late; another was there before; no command is known that it could be for; or it came on another topic than
    its command's replies do."""

    ACCEPTED = "accepted"
    LATE = "late"
    DUPLICATE = "duplicate"
    UNMATCHED = "unmatched"
    ELSEWHERE = "elsewhere"


class Reception(NamedTuple):
    """What became of a reply to a command on this topic, and how long it took from its being sent.
    `is_taken_up`: its execution goes on already. `waiter` is whose command it was."""

    received: Received
    command_topic: str = ""
    latency: timedelta | None = None
    is_taken_up: bool = False
    waiter: Waiter | None = None


def received_by(status: CommandStatus, has_reply: bool, expects_on: str, topic: str) -> Received:
    """What a reply on this topic does to a command that stands so. A stored reply never changes."""
    if topic != expects_on:
        return Received.ELSEWHERE
    if has_reply:
        return Received.DUPLICATE
    return Received.ACCEPTED if status in OPEN else Received.LATE


def times_out(
    status: CommandStatus, timeout_at: datetime | None, timeout: timedelta, at: datetime
) -> datetime | None:
    """Until when an open command still has time; None: none. That is counted from when the bus has it, so
    what is still to be sent has all of it ahead."""
    if status is not CommandStatus.SENT or timeout_at is None:
        return at + max(timeout, SHORTEST_LOOK)
    return timeout_at if timeout_at > at else None


def timed_out(timeout: timedelta) -> str:
    """What is said of a command whose reply did not come.

    >>> timed_out(timedelta(minutes=5))
    'Reply timeout after 300s'
    """
    return f"Reply timeout after {timeout.total_seconds():g}s"
