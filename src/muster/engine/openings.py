"""What visits open and close, with the row that says that they wait: executions, approvals, tasks, events."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from muster.engine.commands import CommandFailed, CommandLetter, CommandOpening
from muster.engine.event_keys import TopicFields, WaitKey
from muster.engine.event_waits import Plan
from muster.engine.external_tasks import ExternalTaskOpening
from muster.engine.node_claims import NodeDone, NodeReleased
from muster.engine.outbox import OutgoingMessage
from muster.model.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many executions with this key are under way at once; the others are queued."""

    key: str
    most: int


@dataclass(frozen=True, slots=True)
class ChildOpening:
    """An execution to be started by a visit, or by one item of it.

    `awaited`: it answers the visit when it has ended. Of a list's children, `at_once` are started at a time,
    in the order of their `place`s; one whose item is under way or done is not opened again, and after the
    first `attempt` neither is one whose item has failed for good.
    """

    id: str
    node: str
    visit: int
    workflow_id: str
    version_id: int
    institute_id: str
    depth: int
    context: JsonObject
    started_at: datetime
    awaited: bool = True
    limit: Limit | None = None
    item_key: str = ""
    place: int = 0
    at_once: int = 1
    stops: bool = False
    attempt: int = 1
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class ListOpening:
    """A list whose children are opened batch by batch: it is not over before it is `complete`, however soon
    the first of them end."""

    id: str
    node: str
    visit: int
    complete: bool


@dataclass(frozen=True, slots=True)
class ApprovalOpening:
    """A decision that people are asked for."""

    id: str
    node: str
    visit: int
    workflow_id: str
    institute_id: str
    assignees: tuple[str, ...]
    created_at: datetime
    title: str | None = None
    message: str | None = None
    form: JsonObject | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventWaitOpening:
    """Events that a visit waits for. `topics` are where they come from, with the fields that their ids are
    in. What this visit has opened before, under another id, is replaced; under the same, it is left alone."""

    id: str
    node: str
    visit: int
    correlation_id: str
    workflow_id: str
    institute_id: str
    plan: Plan
    created_at: datetime
    topics: tuple[TopicFields, ...] = ()
    keys: tuple[WaitKey, ...] = ()


@dataclass(frozen=True, slots=True)
class EventWaitCalled:
    """What was answered to the call that a wait for events begins with."""

    id: str
    response: Json


@dataclass(frozen=True, slots=True)
class EventWaitDone:
    """The visit has gone on with what came."""

    id: str


Opening: TypeAlias = (
    ChildOpening
    | ListOpening
    | ApprovalOpening
    | NodeDone
    | NodeReleased
    | EventWaitOpening
    | EventWaitCalled
    | EventWaitDone
    | OutgoingMessage
    | CommandOpening
    | CommandFailed
    | CommandLetter
    | ExternalTaskOpening
)


@dataclass(frozen=True, slots=True)
class Closing:
    """Whatever these visits have opened is no longer wanted: nobody waits for it. `everything`: whatever any
    visit has opened, where nobody can say which are open. `at`: their time was over then."""

    visits: tuple[tuple[str, int], ...]
    reason: str
    compensate: bool = False
    everything: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class InVain:
    """An execution with this fence is about to give up children of lists whose turn has not come: those of
    visits that it closes; without any, those behind itself in a list that stops where an item fails."""

    execution_id: str
    fence: int
    closes: Closing | None
