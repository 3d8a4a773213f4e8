"""A workflow as the engine knows it: one model behind every shape it may be written in."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from muster.model.json import Json, JsonObject


class WorkflowStatus(StrEnum):
    DRAFT = "DRAFT"
    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"
    ARCHIVED = "ARCHIVED"


class WorkflowType(StrEnum):
    MANUAL = "MANUAL"
    SCHEDULED = "SCHEDULED"
    TRIGGERED = "TRIGGERED"
    EVENT = "EVENT"


class WorkflowKind(StrEnum):
    """Who moves it along: Muster, or other systems that it watches."""

    ORCHESTRATED = "orchestrated"
    WATCHED = "watched"


class EdgeType(StrEnum):
    GOTO = "goto"
    CONDITIONAL = "conditional"
    SWITCH = "switch"


class Join(StrEnum):
    """When a node with several inbound edges runs."""

    ALL = "all"
    EACH = "each"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Node:
    """One step. `type` is the registry's spelling; `config` is the template's merged with the node's own."""

    id: str
    type: str
    config: JsonObject
    name: str | None = None
    order: int = 0
    is_start: bool = False
    is_end: bool = False
    template_id: str | None = None
    override_config: JsonObject | None = None
    retry: JsonObject | None = None
    timeout: Json = None
    on_error: Json = None
    compensate: JsonObject | None = None
    join: Join = Join.ALL
    max_visits: int | None = None
    in_doubt: str | None = None
    dedupe: JsonObject | None = None
    item_key: str | None = None
    notes: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from one node to another.

    A conditional is two edges: one with `value` true, one with `value` false. A switch is one edge per case,
    and one with `is_default` if it has a default.
    """

    source: str
    target: str
    type: EdgeType = EdgeType.GOTO
    condition: str | None = None
    expression: str | None = None
    value: Json = None
    is_default: bool = False
    max_latency_sec: int | None = None
    absolute_deadline: str | None = None
    severity: str | None = None


# What becomes of occurrences that were missed, and of one that comes while another is under way.
Misfire: TypeAlias = Literal["fire_once", "skip", "fire_all"]
Overlap: TypeAlias = Literal["skip", "allow", "queue"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a workflow starts by the clock."""

    schedule_type: str
    cron_expression: str | None = None
    interval_minutes: int | None = None
    day_of_month: int | None = None
    time: str | None = None
    timezone: str = "UTC"
    start_date: str | None = None
    end_date: str | None = None
    status: str = "ACTIVE"
    misfire: Misfire = "fire_once"
    overlap: Overlap = "skip"
    pause_after_failures: int | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """All that one version of a workflow says. Immutable: a change is another version."""

    name: str | None
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    key: str | None = None
    description: str | None = None
    status: WorkflowStatus = WorkflowStatus.ACTIVE
    workflow_type: WorkflowType = WorkflowType.MANUAL
    institute_id: str = ""
    created_by_user_id: str | None = None
    schedules: tuple[Schedule, ...] = ()
    output: Json = None
    durability: str = "journal"
    concurrency: JsonObject | None = None
    search: tuple[str, ...] = ()
    vars: JsonObject = field(default_factory=dict)
    watch: bool = False

    def node(self, node_id: str) -> Node:
        return next(node for node in self.nodes if node.id == node_id)
