"""What a workflow waits for, and the world can give it: events, replies, decisions, work that is done.

Each is given to an instance through the doors that the real ones come by. Whoever gives one and hears nothing
gives it again: what it is then refused for, it has been given before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import Connection, Row, select

from muster.engine.actions import Note
from muster.engine.commands import OPEN, Reply
from muster.engine.doubt import KIND, WAITS_FOR_A_PERSON
from muster.engine.event_keys import KeyedEvent
from muster.engine.event_wait_codec import plan_of
from muster.engine.event_waits import Arrived, Expected, WaitStatus
from muster.engine.external_tasks import Complete, Lock
from muster.model.approval import Approval, ApprovalStatus, Decided, Decision
from muster.model.external_task import TaskStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.model.stored import AuditEntry
from muster.model.workflow import Node
from muster.nodes.wait_events import API_RESPONSE
from muster.nodes.working import Reported
from muster.sim.certify.far_side import Place, named
from muster.store.acts import ExecutionActs
from muster.store.approvals import ApprovalRepository
from muster.store.business_keys import BusinessKeys
from muster.store.command_replies import ReplyRepository
from muster.store.event_wait_records import EventWaitRepository
from muster.store.external_task_records import ExternalTaskRepository
from muster.store.tables import (
    approval,
    execution_wait_states,
    external_task,
    node_execution,
    wait_key,
    workflow_execution,
    workflow_kafka_commands,
)

WORKER = "worker"
AUDIT = AuditEntry("certificate", "", "answer", "the world", "")
W, A, X, K, J = (
    table.c
    for table in (
        execution_wait_states,
        approval,
        external_task,
        workflow_kafka_commands,
        node_execution,
    )
)


@dataclass(frozen=True, slots=True)
class Doors:
    """Where an instance takes what comes from outside."""

    waits: EventWaitRepository
    keyed: BusinessKeys
    approvals: ApprovalRepository
    tasks: ExternalTaskRepository
    replies: ReplyRepository
    acts: ExecutionActs
    look_now: "LookNow"


class LookNow(Protocol):
    def __call__(self) -> None: ...


class Answer(Protocol):
    """`name` says what it is in every run alike. `is_asked`: it is given at once, since somebody looks for it
    all the while."""

    @property
    def name(self) -> str: ...
    @property
    def is_asked(self) -> bool: ...

    async def give(self, doors: Doors) -> None:
        """Durable when this returns."""
        ...


@dataclass(frozen=True, slots=True)
class EventComes:
    name: str
    event: Arrived
    hash: str | None
    at: datetime
    is_asked: bool = False

    async def give(self, doors: Doors) -> None:
        if self.hash is None:
            await doors.waits.receive([self.event])
            return
        until = self.at + timedelta(days=1)
        message = KeyedEvent(self.hash, self.event.topic or "", self.event.data, self.name, self.at, until)
        await doors.keyed.keep([message])
        await doors.keyed.meet()


@dataclass(frozen=True, slots=True)
class Decides:
    name: str
    asked: Approval
    decided: Decided
    is_asked: bool = False

    async def give(self, doors: Doors) -> None:
        await doors.approvals.decide(self.asked, self.decided, AUDIT)


@dataclass(frozen=True, slots=True)
class TaskDone:
    name: str
    task_id: str
    variables: JsonObject
    is_asked: bool = False

    async def give(self, doors: Doors) -> None:
        await doors.tasks.report(Reported(self.task_id, None, Lock(WORKER, timedelta(minutes=1))))
        await doors.tasks.report(Reported(self.task_id, None, Complete(WORKER, self.variables, {})))


@dataclass(frozen=True, slots=True)
class Replied:
    name: str
    reply: Reply
    is_asked: bool = False

    async def give(self, doors: Doors) -> None:
        await doors.replies.receive([self.reply])


@dataclass(frozen=True, slots=True)
class Settles:
    """A person who has looked says whether an effect was done."""

    name: str
    execution_id: str
    fence: int
    payload: JsonObject
    is_asked: bool = False

    async def give(self, doors: Doors) -> None:
        await doors.acts.decide(self.execution_id, self.payload, self.fence, Note(AUDIT))


class HasDone(Protocol):
    def __call__(self, place: Place) -> bool: ...


@dataclass(frozen=True, slots=True)
class World:
    """What the answers are made of: `roles` are the executions' names, `nodes` are in their order."""

    roles: JsonView
    nodes: Mapping[str, Node]
    replies: JsonView
    has_done: HasDone


def answers(connection: Connection, world: World, now: datetime) -> list[Answer]:
    """All that could come now, in the order of the document."""
    found = [
        *_events(connection, world, now),
        *_decisions(connection, world),
        *_tasks(connection, world),
        *_replies(connection, world),
        *_settled(connection, world, now),
    ]
    return [answer for _, answer in sorted(found, key=lambda each: each[0])]


_Ranked = tuple[tuple[str, int, int, int], Answer]


def _rank(world: World, execution: str, node: str, visit: int, place: int = 0) -> tuple[str, int, int, int]:
    order = [*world.nodes]
    at = order.index(node) if node in world.nodes else len(order)
    return str(world.roles.get(execution, "?")), at, visit, place


def _name(world: World, execution: str, node: str, visit: int, what: str) -> str:
    return f"{world.roles.get(execution, '?')}{named(node, visit)}: {what}"


def _events(connection: Connection, world: World, now: datetime) -> list[_Ranked]:
    waiting = select(execution_wait_states).where(W.status == WaitStatus.WAITING.value, W.expires_at > now)
    found: list[_Ranked] = []
    for row in connection.execute(waiting).all():
        visit = (row.execution_id, row.node_id, row.visit)
        hashes = select(wait_key.c.event, wait_key.c.hash).where(wait_key.c.wait_id == row.id)
        keys = {each.event: each.hash for each in connection.execute(hashes)}
        for place, event in enumerate(plan_of(row.config).events):
            if event.name in (row.received_events or ()) or _is_the_answer(world, row.node_id, event):
                continue
            data = event_data(event, world.replies.get(row.node_id))
            ids = (row.execution_id, row.correlation_id)
            arrived = Arrived(event.source, *ids, data, event.topic, event.name)
            name = _name(world, *visit, event.name)
            found.append((_rank(world, *visit, place), EventComes(name, arrived, keys.get(event.name), now)))
    return found


def _is_the_answer(world: World, node: str, event: Expected) -> bool:
    """Whether it is what the node's own call is answered, and comes by no other way."""
    call = world.nodes[node].config.get("apiCall") if node in world.nodes else None
    return event.name == API_RESPONSE and isinstance(call, dict) and call.get("responseMode") == "sync"


def event_data(event: Expected, replies: Json) -> Json:
    """What an event carries: what the replies say, or its name, and whatever its filter asks for."""
    said = replies.get(event.name) if isinstance(replies, dict) else None
    if said is not None:
        return said
    data: JsonObject = {"event": event.name}
    for path, value in event.filter.items():
        *outer, last = path.split(".")
        inner = data
        for name in outer:
            inner = inner.setdefault(name, {})  # type: ignore[assignment]  # made here, so it is an object
        inner[last] = value
    return data


def _decisions(connection: Connection, world: World) -> list[_Ranked]:
    found: list[_Ranked] = []
    for row in connection.execute(select(approval).where(A.status == ApprovalStatus.OPEN.value)).all():
        said = world.replies.get(row.node_id)
        reply = said if isinstance(said, dict) else {}
        decision = Decision.REJECT if reply.get("approved") is False else Decision.APPROVE
        decided = Decided(decision, reply.get("form"), "", "somebody")
        visit = (row.execution_id, row.node_id, row.visit)
        word = "rejected" if decision is Decision.REJECT else "approved"
        found.append((_rank(world, *visit), Decides(_name(world, *visit, word), _asked(row), decided)))
    return found


def _asked(row: Row[Any]) -> Approval:
    fields = {name: row._mapping[name] for name in Approval.__slots__ if name in row._mapping}
    return Approval(**{**fields, "status": ApprovalStatus(row.status), "assignees": tuple(row.assignees)})


def _tasks(connection: Connection, world: World) -> list[_Ranked]:
    found: list[_Ranked] = []
    for row in connection.execute(select(external_task).where(X.status == TaskStatus.OPEN.value)).all():
        said = world.replies.get(row.node_id)
        visit = (row.execution_id, row.node_id, row.visit)
        done = TaskDone(_name(world, *visit, "completed"), row.id, said if isinstance(said, dict) else {})
        found.append((_rank(world, *visit), done))
    return found


def _replies(connection: Connection, world: World) -> list[_Ranked]:
    waiting = select(workflow_kafka_commands).where(
        K.status.in_(sorted(OPEN)), K.sent_at.is_not(None), K.reply_received_at.is_(None)
    )
    found: list[_Ranked] = []
    for row in connection.execute(waiting).all():
        visit = (row.workflow_instance_id, row.step_id, row.visit)
        what = "replied" if row.attempt == 1 else f"replied (attempt {row.attempt})"
        reply = Reply(row.correlation_id, row.reply_topic, world.replies.get(row.step_id, {}))
        undoes = row.compensates is not None
        found.append((_rank(world, *visit), Replied(_name(world, *visit, what), reply, undoes)))
    return found


def _settled(connection: Connection, world: World, now: datetime) -> list[_Ranked]:
    E = workflow_execution.c
    asking = (
        select(J.execution_id, J.node_id, J.visit, J.error, E.fence)
        .join(workflow_execution, E.id == J.execution_id)
        .where(J.status == WAITS_FOR_A_PERSON.value, J.item_key == "", J.error.is_not(None))
    )
    found: list[_Ranked] = []
    for row in connection.execute(asking).all():
        if not isinstance(row.error, dict) or row.error.get("type") != KIND:
            continue
        visit = (row.execution_id, row.node_id, row.visit)
        done = world.has_done(Place(str(world.roles.get(row.execution_id, "?")), row.node_id, row.visit))
        payload: JsonObject = {
            "node": row.node_id,
            "visit": row.visit,
            "outcome": "done" if done else "redo",
            "output": {},
            "at": now.isoformat(),
        }
        answer = Settles(_name(world, *visit, "a person has looked"), row.execution_id, row.fence, payload)
        found.append((_rank(world, *visit), answer))
    return found
