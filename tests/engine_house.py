"""A small engine for tests: a real store, nodes that tell what they did, executions driven to their end."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

from sqlalchemy import Connection, func, select, update

from clocks import NOON, ShiftedClock
from muster.definitions.check import check
from muster.definitions.document import to_document
from muster.engine.at_hand import AtHand
from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.handlers import Call, Done, Effect, Handlers, Opener, Outcome, Suspend, Waker
from muster.engine.instance import MOST_DRIVEN, Instance, Name
from muster.engine.journal import SignalKind
from muster.engine.owned import NewExecution
from muster.engine.program import Program, compile_program
from muster.engine.spans import SpanObserver
from muster.engine.state import Failure, Phase
from muster.engine.tracing import Tracer
from muster.expr import compile_template
from muster.kit.clock import Clock
from muster.kit.ids import TimeOrderedIds
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject
from muster.model.node_type import Catalogue, NodeKind, NodeType
from muster.model.workflow import Definition, Edge, Node
from muster.nodes import builtin, pure_handlers, wait_handlers
from muster.store.acts import Sent, put_signals
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.executions import ExecutionRepository
from muster.store.tables import (
    execution_signal,
    node_execution,
    workflow,
    workflow_execution,
    workflow_version,
)
from polling import until

# Longer than any test: who is to lose a lease has it moved.
LEASE = timedelta(hours=1)


def node_type(name: str, kind: NodeKind) -> NodeType:
    return NodeType(name, kind, "test", name, "", {})


TYPES = {
    "SET": node_type("SET", NodeKind.PURE),
    "TELL": node_type("TELL", NodeKind.EFFECT),
    "SLEEP": node_type("SLEEP", NodeKind.WAIT),
    "ASK": node_type("ASK", NodeKind.WAIT),
    **builtin(),
}


@dataclass
class Told:
    """What effects did, in order: their keys and parameters. `answers` are what the next ones come to;
    saying `hangs_at` never ends, and saying `pauses_at` ends when told to go on."""

    did: list[tuple[str, JsonObject]] = field(default_factory=list)
    answers: list[Done | Failure] = field(default_factory=list)
    hangs_at: str | None = None
    pauses_at: str | None = None
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def tell(self, params: JsonObject, call: Call) -> Done | Failure:
        self.did.append((call.key, params))
        if params.get("say") == self.hangs_at:
            self.hanging.set()
            await asyncio.Event().wait()
        if params.get("say") == self.pauses_at:
            self.hanging.set()
            await self.go_on.wait()
        return self.answers.pop(0) if self.answers else Done({"told": params.get("say")})

    @property
    def said(self) -> list[object]:
        return [params.get("say") for _, params in self.did]


def set_fields(config: JsonObject, call: Call) -> Done | Failure:
    value = compile_template(config).resolve(call.scope)
    assert isinstance(value, dict)
    return Done(value, value)


def sleep(params: JsonObject, call: Call) -> Outcome:
    seconds = params["seconds"]
    assert isinstance(seconds, int | float)
    if call.woken:
        return Done({"slept": seconds})
    return Suspend(Phase.PAUSED, NodeStatus.PAUSED, call.now + timedelta(seconds=seconds))


def ask(params: JsonObject, call: Call) -> Outcome:
    if call.woken:
        return Done({"answer": call.answer})
    return Suspend(Phase.WAITING, NodeStatus.WAITING_FOR_TASK, None)


def node(node_id: str, kind: str = "TELL", **facts: object) -> Node:
    config = facts.pop("config", {"say": node_id})
    return Node(node_id, kind, config, is_start=node_id == "a", **facts)


def chain(*nodes: Node) -> Definition:
    edges = (Edge(one.id, two.id) for one, two in pairwise(nodes))
    return Definition("chain", nodes, tuple(edges))


class House:
    """An engine over a database. Several may share one, each under its own name."""

    def __init__(
        self,
        database: Database,
        told: Told,
        name: str = "here",
        clock: Clock | None = None,
        most_driven: int = MOST_DRIVEN,
        ring: Callable[[], None] | None = None,
        at_hand: AtHand | None = None,
        stuck_after: timedelta | None = None,
        events: str | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.database, self.told, self.clock = database, told, clock or ShiftedClock()
        self.ids = TimeOrderedIds(self.clock)
        self.committer = GroupCommitter(database)
        self.executions = ExecutionRepository(database, self.committer, LEASE, light=at_hand is not None)
        self.programs: dict[int, Program] = {}
        pures = {"SET": set_fields, **pure_handlers()}
        waits = {"SLEEP": sleep, "ASK": ask, **wait_handlers()}
        self.openers: dict[str, Opener] = {}
        self.wakers: dict[str, Waker] = {}
        self.effects: dict[str, Effect] = {"TELL": told.tell}
        handlers = Handlers(self.effects, pures, waits, self.openers, self.wakers)
        attempts = Attempts(handlers, self.executions, self.clock, lambda: 1.0, LEASE, tracer=tracer)
        observer = None if tracer is None else SpanObserver(tracer, self.clock)
        driver = Driver(self.executions, attempts, self.clock, lambda: 1.0, observer, at_hand, events)
        self.instance = Instance(
            Name(name, self.ids.new()),
            self.executions,
            driver,
            self.program,
            self.clock,
            LEASE,
            most_driven=most_driven,
            ring=ring,
            at_hand=at_hand,
            stuck_after=stuck_after,
            observer=observer,
            kept_program=self.kept_program,
        )

    async def program(self, version_id: int) -> Program:
        return self.programs[version_id]

    def kept_program(self, version_id: int) -> Program | None:
        return self.programs.get(version_id)

    async def define(self, definition: Definition) -> None:
        """Make a definition known, as if it had been saved as version 1."""
        self.programs[1] = compile_program(definition, TYPES)
        document = to_document(definition)
        await self.database.write(lambda connection: _save(connection, self.clock, document))

    async def define_again(self, definition: Definition) -> None:
        """Make one known that another house has saved in this database."""
        self.programs[1] = compile_program(definition, TYPES)

    async def define_document(self, document: JsonObject) -> None:
        """Make a definition known as its author writes it: checked, then made ready."""
        checked = check(document, Catalogue(builtin()))
        assert checked.definition is not None, checked.errors
        await self.define(checked.definition)

    async def run(self, **context: object) -> str:
        """Start an execution, and wait until it has parked or ended."""
        execution = await self.start(**context)
        await self.instance.ended(execution)
        return execution

    async def start(self, **context: object) -> str:
        owner = self.instance.name.owner
        new = NewExecution(self.ids.new(), "w1", 1, "", owner, dict(context), self.clock.now())
        await self.instance.start(new)
        return new.id

    async def pass_time(self, **by: float) -> None:
        """Let time pass, in this house and for the executions that are parked in its database: whatever
        comes due meanwhile is due by the database's clock, too."""
        assert isinstance(self.clock, ShiftedClock)
        self.clock.ahead += timedelta(**by)
        due = update(workflow_execution).where(workflow_execution.c.resume_at <= self.clock.now())
        await self.database.write(lambda connection: connection.execute(due.values(resume_at=NOON)))

    async def signal(self, execution_id: str, kind: SignalKind, payload: JsonObject) -> bool:
        """Let something reach an execution; False: it has ended."""
        sent = Sent(execution_id, kind, payload)
        return await self.database.write(lambda connection: put_signals(connection, [sent])[0])

    async def signals_left(self, execution_id: str) -> int:
        """How many are kept for it."""
        found = select(func.count()).where(execution_signal.c.execution_id == execution_id)
        return await self.database.read(lambda connection: connection.scalar(found) or 0)

    async def row(self, execution_id: str) -> dict[str, object]:
        found = select(workflow_execution).where(workflow_execution.c.id == execution_id)
        row = await self.database.read(lambda connection: connection.execute(found).one())
        return dict(row._mapping)

    async def journal(self, execution_id: str) -> list[tuple[object, ...]]:
        found = (
            select(node_execution.c.node_id, node_execution.c.item_key, node_execution.c.status)
            .where(node_execution.c.execution_id == execution_id)
            .order_by(node_execution.c.seq, node_execution.c.item_key)
        )
        rows = await self.database.read(lambda connection: connection.execute(found).all())
        return [tuple(row) for row in rows]

    async def until_journaled(self, execution_id: str, *rows: tuple[str, str, str]) -> None:
        """Wait until these visits are in the journal: their nodes, items and statuses."""

        async def are_there() -> bool:
            return set(rows) <= set(await self.journal(execution_id))

        await until(are_there)


def _save(connection: Connection, clock: Clock, document: JsonObject) -> None:
    at = clock.now()
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    named = {"id": "w1", "key": "w1", "name": "w1", **kinds}
    insert_rows(connection, workflow, [{**named, "created_at": at, "updated_at": at}])
    version = {"id": 1, "workflow_id": "w1", "version": 1, "definition": document}
    made = {"checksum": "", "created_by": "test", "created_at": at}
    insert_rows(connection, workflow_version, [{**version, **made}])
