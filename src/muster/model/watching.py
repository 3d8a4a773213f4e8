"""What is watched: graphs of event types, the runs of keys through them, and what those expect."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from enum import StrEnum
from functools import cached_property

from muster.model.json import JsonObject


class Severity(StrEnum):
    """How a run stands, or how bad a miss is. `green` is not bad at all."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


def worst(*severities: Severity) -> Severity:
    return max(severities, key=lambda each: each.rank, default=Severity.GREEN)


class ExpectationStatus(StrEnum):
    PENDING = "pending"
    FIRED = "fired"
    CLEARED = "cleared"


class AlertState(StrEnum):
    OPEN = "open"
    ACK = "ack"
    SUPPRESSED = "suppressed"
    RESOLVED = "resolved"


class AlertReason(StrEnum):
    SLA_MISSED = "SLA_MISSED"
    ORDER_VIOLATION = "ORDER_VIOLATION"
    EXPECTED_MISSED = "EXPECTED_MISSED"


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time of day, `offset` ahead of UTC; without one, by the clock of the workflow's zone."""

    at: time
    offset: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ExpectStart:
    """That a run begins at a node by the clock: so many seconds after each time that the cron expression
    names. `key` is the run's; None: any will do."""

    cron: str
    timezone: str
    grace_sec: int
    key: str | None = None


@dataclass(frozen=True, slots=True)
class WatchedNode:
    key: str
    event_type: str
    start: bool = False
    terminal: bool = False
    expect_start: ExpectStart | None = None
    # What several lead to, and happens once for all of them.
    joins: bool = False


@dataclass(frozen=True, slots=True)
class WatchedEdge:
    """That an event of `target` follows one of `source` by a time: the earlier of the two, where both are
    given; without any, an edge says only what may follow what, and nothing is ever missed."""

    source: str
    target: str
    max_latency_sec: int | None = None
    absolute_deadline: Deadline | None = None
    deadline_rollover: bool = False
    expected_count: int = 1
    optional: bool = False
    severity: Severity = Severity.AMBER


@dataclass(frozen=True)
class WatchedGraph:
    """One version of a watched workflow. A type of event has one node; edges are in the order given.
    `is_own`: Muster runs it, and its events say where they lead to."""

    nodes: tuple[WatchedNode, ...]
    edges: tuple[WatchedEdge, ...]
    group_dimensions: tuple[str, ...] = ()
    timezone: str = "UTC"
    watches_optional: bool = False
    shows_latest_status: bool = False
    is_own: bool = False

    @cached_property
    def by_event_type(self) -> Mapping[str, WatchedNode]:
        return {node.event_type: node for node in self.nodes}

    @cached_property
    def by_key(self) -> Mapping[str, WatchedNode]:
        return {node.key: node for node in self.nodes}

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[WatchedEdge, ...]]:
        """The edges that lead on from a node."""
        return {node.key: tuple(e for e in self.edges if e.source == node.key) for node in self.nodes}

    @cached_property
    def needs_predecessor(self) -> frozenset[str]:
        """Nodes whose events out of the blue are in the wrong order. Muster itself keeps it."""
        if self.is_own:
            return frozenset()
        started = {node.key for node in self.nodes if node.start}
        return frozenset(edge.target for edge in self.edges if not edge.optional) - started

    @cached_property
    def terminals(self) -> frozenset[str]:
        """Nodes that end a run: those that say so; if none does, those that nothing follows."""
        said = frozenset(node.key for node in self.nodes if node.terminal)
        return said or frozenset(node.key for node in self.nodes if not self.outgoing[node.key])


@dataclass(frozen=True, slots=True)
class WatchedWorkflow:
    """A watched workflow at one of its versions."""

    id: str
    key: str
    name: str
    institute_id: str
    version_id: int
    version: int
    graph: WatchedGraph


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it was taken in. `workflow_keys` None: it concerns those with a node for its type. `trace`
    is the `traceparent` of whom it came from."""

    source_system: str
    event_id: str
    event_type: str
    event_time: datetime
    received_at: datetime
    correlation_key: str
    workflow_keys: tuple[str, ...] | None = None
    group: JsonObject | None = None
    payload: JsonObject | None = None
    institute_id: str = ""
    trace: str | None = None

    @property
    def is_ahead(self) -> bool:
        """Whether its own clock is ahead of ours."""
        return self.event_time > self.received_at

    @property
    def happened_at(self) -> datetime:
        """Its time, but not a future one."""
        return min(self.event_time, self.received_at)


@dataclass(slots=True)
class Expectation:
    """That an event of `target` arrives by a time."""

    id: int
    run_id: int
    source: str
    target: str
    due_at: datetime
    severity: Severity
    optional: bool
    created_at: datetime
    # The first of those that one event expects over one edge.
    origin_id: int
    status: ExpectationStatus = ExpectationStatus.PENDING
    # Whether the event that clears it creates what follows: of those of one origin, the first to come does.
    leads: bool = True
    fired_at: datetime | None = None
    cleared_at: datetime | None = None
    abandoned_at: datetime | None = None

    @property
    def is_in_flight(self) -> bool:
        """Whether somebody still counts on it."""
        return (
            not self.optional and self.status is not ExpectationStatus.CLEARED and self.abandoned_at is None
        )


@dataclass(slots=True)
class Run:
    """A key's passage through a version, with what it still expects: `expectations` are all that are not
    cleared. `early` are events that came before their predecessors, by node. `awaits_start`: none of its
    graph's start nodes has come."""

    id: int
    version_id: int
    correlation_key: str
    number: int
    institute_id: str
    group: JsonObject | None
    group_hash: str
    started_at: datetime
    updated_at: datetime
    status: Severity = Severity.GREEN
    last_node: str | None = None
    seq: int = 0
    finished_at: datetime | None = None
    terminal_came: bool = False
    awaits_start: bool = True
    early: dict[str, int] = field(default_factory=dict)
    expectations: list[Expectation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trigger:
    """What an alert is opened with, or counted once more. Its `reason` is an `AlertReason`, or another
    stage's own, and so is its name, where it has one."""

    version_id: int
    run_id: int | None
    node: str
    correlation_key: str
    group_hash: str
    institute_id: str
    severity: Severity
    reason: str
    at: datetime
    name: str | None = None

    @property
    def dedupe_key(self) -> str:
        return self.name or f"{self.version_id}:{self.node}:{self.correlation_key}"
