"""What a run has left behind in the database: how everything ended, and by which way."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Connection, select

from muster.engine.arrival_orders import passages
from muster.engine.commands import STEP_ID
from muster.engine.event_wait_codec import plan_of
from muster.engine.event_waits import Plan, WaitStatus
from muster.engine.handlers import Call
from muster.engine.state import FINAL
from muster.model.execution import WAITS, ExecutionDetail, NodeStatus
from muster.model.json import Json, JsonView
from muster.sim.certify.answers import event_data
from muster.sim.certify.choices import OVER
from muster.sim.certify.far_side import Place, named
from muster.sim.certify.subject import Subject, key_of
from muster.store.database import Database
from muster.store.outbox import decode_headers
from muster.store.tables import (
    execution_child,
    execution_wait_states,
    node_execution,
    outbox_message,
    workflow_execution,
)

E, J, M, C = (table.c for table in (workflow_execution, node_execution, outbox_message, execution_child))
RESTING = sorted({*WAITS, NodeStatus.PAUSED, NodeStatus.RETRYING})
# Ids and times differ from run to run, whatever a workflow does.
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,}")
_TIME = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9.]+(?:Z|[+-][0-9]{2}:?[0-9]{2})?")
_SECONDS = re.compile(r"18[0-9]{8}(?:\.[0-9]+)?|18[0-9]{11}")


class Roles:
    """`far_side.Known`. Names of executions are the same in every run: the main one has none."""

    def __init__(self, database: Database, subject: Subject) -> None:
        self._database, self._subject = database, subject
        self.known: dict[str, str] = {}

    async def role(self, execution_id: str) -> str:
        if execution_id not in self.known:
            await self._database.read(self.look)
        return self.known.get(execution_id, "?")

    async def is_done(self, call: Call) -> bool:
        mine = (J.execution_id == call.execution_id, J.node_id == call.node_id, J.visit == call.visit)
        status = select(J.status).where(*mine, J.item_key == call.item_key)
        found = await self._database.read(lambda connection: connection.scalar(status))
        return found in (NodeStatus.COMPLETED, NodeStatus.COMPENSATED)

    def look(self, connection: Connection) -> Mapping[str, str]:
        """All that there are."""
        rows = connection.execute(select(E.id, E.parent_execution_id, E.workflow_version_id).order_by(E.id))
        children = {row.child_execution_id: row for row in connection.execute(select(execution_child))}
        for row in rows.all():
            if row.id not in self.known:
                self.known[row.id] = self._role(row, children.get(row.id))
        return self.known

    def _role(self, row: Any, child: Any) -> str:
        if row.parent_execution_id is None:
            return ""
        outer = self.known.get(row.parent_execution_id, "")
        if child is not None:
            item = f" [{child.item_key}]" if child.item_key else ""
            return f"{outer}{named(child.node_id, child.visit)}{item} > "
        key = key_of(self._subject.definitions[row.workflow_version_id])
        others = sum(role.startswith(f"{outer}{key} ") for role in self.known.values())
        return f"{outer}{key} {others + 1} > "


@dataclass(frozen=True, slots=True)
class Standing:
    """How everything stands while nothing happens, or before. `due` is when the next thing comes by itself,
    `due_name` whose time is over then."""

    is_over: bool
    is_quiet: bool
    due: datetime | None
    due_name: str


def standing(connection: Connection, roles: Mapping[str, str], now: datetime) -> Standing:
    rows = connection.execute(select(E.id, E.status, E.owner, E.resume_at)).all()
    live = [row for row in rows if row.status not in FINAL]
    dues = [row.resume_at for row in live if row.resume_at is not None]
    unpublished = connection.scalar(select(M.id).where(M.published_at.is_(None)).limit(1))
    quiet = unpublished is None and not any(row.owner for row in live) and all(due > now for due in dues)
    due = min(dues, default=None)
    return Standing(bool(rows) and not live and quiet, quiet, due, _whose(connection, roles, live))


def _whose(connection: Connection, roles: Mapping[str, str], live: list[Any]) -> str:
    """Whose time it is: a node's, else all of its execution's."""
    wanted = (J.execution_id.in_([row.id for row in live]), J.due_at.is_not(None), J.status.in_(RESTING))
    waiting = select(J.execution_id, J.node_id, J.visit, J.attempt, J.status).where(*wanted)
    first = connection.execute(waiting.order_by(J.due_at, J.node_id).limit(1)).first()
    if first is None:
        return OVER
    name = f"{roles.get(first.execution_id, '?')}{named(first.node_id, first.visit)}"
    if first.status == NodeStatus.RETRYING:
        return f"{name}: is tried again (after attempt {first.attempt})"
    return f"{name}: {OVER}"


@dataclass(frozen=True, slots=True)
class Step:
    """A visit of a node, or an item of it."""

    place: Place
    status: str
    error: str | None


@dataclass(frozen=True, slots=True)
class WaitSeen:
    """A wait for events as it ended: what had come, in this order. `is_known`: it is one of the ways that the
    order table has, of which there are so many."""

    node: str
    arrivals: tuple[str, ...]
    timed_out: bool
    is_known: bool
    ways: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the execution. `path` are the nodes that it went through, in the order in which they were
    done; `steps` are all of its steps and its children's."""

    status: str
    error: str | None
    output: str
    path: tuple[str, ...]
    steps: frozenset[Step]

    @property
    def place(self) -> tuple[str, str | None, str, frozenset[Step]]:
        """What tells outcomes apart: not, in which order nodes were done that ran side by side."""
        return self.status, self.error, self.output, self.steps


def outcome_of(found: ExecutionDetail, steps: list[Step], order: Mapping[Place, int]) -> Outcome:
    visits = sorted((step for step in steps if step.place in order), key=lambda step: order[step.place])
    row = found.row
    error = None if row.error_type is None else f"{row.error_type}: {_steady(row.error_message or '')}"
    return Outcome(
        row.status,
        error,
        _steady(orjson.dumps(found.output, option=orjson.OPT_SORT_KEYS).decode()),
        tuple(_shown(step) for step in visits),
        frozenset(steps),
    )


def _shown(step: Step) -> str:
    name = named(step.place.node, step.place.visit)
    return name if step.status == NodeStatus.COMPLETED else f"{name} {step.status.upper()}"


def _steady(text: str) -> str:
    return _SECONDS.sub("<time>", _TIME.sub("<time>", _ID.sub("<id>", text)))


def steps_in(connection: Connection, roles: Mapping[str, str]) -> tuple[list[Step], dict[Place, int]]:
    """Every step; and the order of the main execution's visits."""
    steps, order = [], {}
    for row in connection.execute(select(node_execution).order_by(J.seq)).all():
        role = roles.get(row.execution_id, "?")
        place = Place(role, row.node_id, row.visit, row.item_key)
        error = row.error.get("type") if isinstance(row.error, dict) else None
        steps.append(Step(place, row.status, None if error is None else str(error)))
        if role == "" and row.item_key == "":
            order[place] = row.seq
    return steps, order


def messages_in(connection: Connection) -> Counter[str]:
    """What was published, by who published it and where."""
    counted: Counter[str] = Counter()
    for row in connection.execute(select(M.topic, M.headers)).all():
        headers = dict(decode_headers(row.headers))
        step = headers.get(STEP_ID, b"").decode(errors="replace")
        counted[f"{step}: message on {row.topic}"] += 1
    return counted


def waits_in(connection: Connection, replies: JsonView, most: int) -> tuple[WaitSeen, ...]:
    """Waits that are over, held against the ways that the order table knows."""
    over = (WaitStatus.COMPLETED.value, WaitStatus.TIMEOUT.value)
    rows = connection.execute(select(execution_wait_states)).all()
    return tuple(_seen(row, replies, most) for row in rows if row.status in over)


def _seen(row: Any, replies: JsonView, most: int) -> WaitSeen:
    arrivals, timed_out = tuple(row.received_events or ()), row.status == WaitStatus.TIMEOUT.value
    known = _ways(plan_of(row.config), replies.get(row.node_id), most)
    is_known = (arrivals, timed_out) in known or len(known) >= most
    return WaitSeen(row.node_id, arrivals, timed_out, is_known, len(known))


def _ways(plan: Plan, replies: Json, most: int) -> set[tuple[tuple[str, ...], bool]]:
    data = {event.name: event_data(event, replies) for event in plan.events}
    found = set()
    for passage in passages(plan, data):
        found.add((passage.arrivals, passage.over_at is not None))
        if len(found) >= most:
            break
    return found
