"""The engine under faults: what was accepted ends as it should, and no journaled effect happens again.

Three instances share a database that fails and loses answers; they crash at any commit and start again.
They run random graphs of pure nodes, effects and pauses. Effects reach a sink outside, which keeps every
call; whoever calls it for something that is journaled as done is caught in the act. In the end the faults
stop, and everything that was accepted has to finish.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from random import Random
from typing import TypeAlias

from sqlalchemy import Connection, Row, insert, select, text

from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.handlers import Call, Done, Handlers, Outcome, Suspend
from muster.engine.instance import Instance, Name
from muster.engine.ports import NewExecution, NotWritten, OwnedExecution, Progress
from muster.engine.program import Program, compile_program
from muster.engine.state import Failure, Phase
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.workflow import Definition, Edge, EdgeType, Node
from muster.sim.database import Fault, FaultyDatabase, by_chance
from muster.sim.template import Template
from muster.sim.world import BEGINNING, World
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.executions import ExecutionRepository
from muster.store.tables import (
    dead_letter,
    execution_signal,
    execution_takeover,
    metadata,
    node_execution,
    workflow,
    workflow_execution,
    workflow_version,
)

LEASE = timedelta(seconds=5)
STORMY_SECONDS = 15
CALM_SECONDS = 600
ZOMBIE_SECONDS = 12.0
INSTANCES = 3
VERSION = 1
ODDS = {
    Fault.UNAVAILABLE: 0.03,
    Fault.COMMIT_LOST: 0.02,
    Fault.ANSWER_LOST: 0.02,
    Fault.CRASH_BEFORE: 0.01,
    Fault.CRASH_AFTER: 0.01,
}
TABLES = [
    workflow,
    workflow_version,
    workflow_execution,
    node_execution,
    execution_signal,
    execution_takeover,
    dead_letter,
]
# What no statement may do, held by the database itself.
ENDS_ARE_FINAL = """
CREATE TRIGGER ends_are_final BEFORE UPDATE ON workflow_execution
WHEN OLD.status IN ('COMPLETED', 'FAILED', 'CANCELLED')
BEGIN SELECT RAISE(ABORT, 'an execution that had ended was changed'); END
"""

MakeExecutions: TypeAlias = type[ExecutionRepository]


@dataclass
class Ledger:
    """What happened, kept where no crash reaches it."""

    survivor: Database
    accepted: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    fences: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def simulate(world: World, make: MakeExecutions = ExecutionRepository) -> list[str]:
    """Run it in a world; answer what was found wrong."""
    return world.run(partial(_story, make=make))


async def _story(world: World, make: MakeExecutions) -> list[str]:
    survivor = _template().fresh(world.clock)
    ledger = Ledger(survivor)
    weather = _Weather(by_chance(world, "database", ODDS))
    database = FaultyDatabase(survivor, world, weather.choose)
    program = compile_program(random_definition(world.chance("graph")), TYPES)
    places = [_Place(world, ledger, weather, database, program, number, make) for number in range(INSTANCES)]
    lives = [world.outside(place.live_again_and_again(), place.name) for place in places]
    await asyncio.sleep(STORMY_SECONDS)
    weather.calm = True
    await _until_all_have_ended(ledger)
    ledger.wrong += [f"{life.get_name()} gave up: {life.exception()}" for life in lives if life.done()]
    for life in lives:
        life.cancel()
    rows = await survivor.read(lambda connection: connection.execute(select(workflow_execution)).all())
    return ledger.wrong + [wrong for row in rows for wrong in _judge(row, ledger)]


async def _until_all_have_ended(ledger: Ledger) -> None:
    for _ in range(CALM_SECONDS):
        await asyncio.sleep(1)
        live = await ledger.survivor.read(lambda connection: connection.execute(LIVE).all())
        ledger.wrong += [f"{row.id} is looked after by nobody" for row in live if _is_orphan(row)]
        if not live:
            return


LIVE = select(workflow_execution).where(
    workflow_execution.c.status.not_in(["COMPLETED", "FAILED", "CANCELLED"])
)


def _is_orphan(row: Row[tuple[object, ...]]) -> bool:
    return row.lease_until is None and row.resume_at is None


def _judge(row: Row[tuple[object, ...]], ledger: Ledger) -> list[str]:
    if row.id in ledger.accepted and row.status != "COMPLETED":
        return [f"{row.id} was accepted and is {row.status} ({row.error_message})"]
    return []


@cache
def _template() -> Template:
    return Template(_prepare)


def _prepare(connection: Connection) -> None:
    at = BEGINNING
    metadata.create_all(connection, TABLES)
    connection.execute(text(ENDS_ARE_FINAL))
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    times = {"created_at": at, "updated_at": at}
    connection.execute(insert(workflow), [{"id": "w", "key": "w", "name": "w", **kinds, **times}])
    version = {"id": VERSION, "workflow_id": "w", "version": 1, "definition": {}, "checksum": ""}
    connection.execute(insert(workflow_version), [{**version, "created_by": "", "created_at": at}])


class _Weather:
    """Faults come until it is calm."""

    def __init__(self, stormy: Callable[[], Fault]) -> None:
        self._stormy = stormy
        self.calm = False

    def choose(self) -> Fault:
        return Fault.NONE if self.calm else self._stormy()


class _Place:
    """Where an instance runs, crashes, and starts again under the same name."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        weather: _Weather,
        database: Database,
        program: Program,
        number: int,
        make: MakeExecutions,
    ) -> None:
        self.name = f"instance-{number}"
        self._world, self._ledger, self._weather = world, ledger, weather
        self._database, self._program, self._make = database, program, make
        self._chance = world.chance(self.name)

    async def live_again_and_again(self) -> None:
        while True:
            process = self._world.process(self.name)
            process.start(self._live())
            if not self._weather.calm and self._chance.random() < 0.5:
                strike = self._world.loop.call_later
                at = self._chance.random() * STORMY_SECONDS
                if self._chance.random() < 0.5:
                    strike(at, process.crash)
                else:
                    strike(at, process.freeze, ZOMBIE_SECONDS)
            await process.ended()
            # Sometimes it is back at once, sometimes others have taken over long before.
            await asyncio.sleep(self._chance.choice([0.1, 1.0, 15.0]))

    async def _live(self) -> None:
        committer = GroupCommitter(self._database)
        executions = _watched(self._make, self._ledger)(self._database, committer, LEASE)
        handlers = Handlers({"TELL": self._tell}, {"SET": _set}, {"SLEEP": _sleep})
        clock, chance = self._world.clock, self._chance.random
        driver = Driver(executions, Attempts(handlers, executions, clock, chance, LEASE), clock, chance)
        name = Name(self.name, self._world.ids.new())
        instance = Instance(name, executions, driver, self._find_program, clock, LEASE)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(instance.run())
            tasks.create_task(self._start_some(instance))

    async def _find_program(self, version_id: int) -> Program:
        return self._program

    async def _start_some(self, instance: Instance) -> None:
        for _ in range(self._chance.randint(1, 4)):
            await asyncio.sleep(self._chance.random() * STORMY_SECONDS / 4)
            world = self._world
            owner = instance.name.owner
            new = NewExecution(world.ids.new(), "w", VERSION, "", owner, {"n": 0}, world.clock.now())
            try:
                await instance.start(new)
            except NotWritten:
                continue
            self._ledger.accepted.add(new.id)

    async def _tell(self, params: JsonObject, call: Call) -> Done | Failure:
        """An effect on the world outside, which may answer late or not at all."""
        await self._world.outside(self._happen(call), "sink")
        await asyncio.sleep(self._chance.choice([0.0, 0.05, 0.5, 8.0]))
        if not self._weather.calm and self._chance.random() < 0.1:
            return Failure("Busy", "later", retryable=True)
        return Done({"told": call.key})

    async def _happen(self, call: Call) -> None:
        if call.key in self._ledger.done:
            self._ledger.wrong.append(f"{call.key} happened again although it was journaled as done")


def _watched(make: type[ExecutionRepository], ledger: Ledger) -> type[ExecutionRepository]:
    """The repository, noting what it acknowledges: what is done may not happen again, and who was overtaken
    before it began to write may not succeed."""

    class Watched(make):  # type: ignore[misc, valid-type]  # which class it is, the caller decides
        async def write(self, progress: Progress) -> None:
            overtaken = progress.fence < ledger.fences.get(progress.execution_id, 0)
            await super().write(progress)
            if overtaken:
                ledger.wrong.append(
                    f"{progress.execution_id} was written under the old fence {progress.fence}"
                )
            for row in progress.rows:
                if row.status == "completed":
                    place = f"{progress.execution_id}:{row.node}:{row.visit}"
                    ledger.done.add(f"{place}:{row.item_key}" if row.item_key else place)

        async def claim_abandoned(self, owner: str, limit: int) -> Sequence[OwnedExecution]:
            taken: Sequence[OwnedExecution] = await super().claim_abandoned(owner, limit)
            ledger.fences.update({owned.id: owned.fence for owned in taken})
            return taken

    return Watched


def _set(config: JsonObject, call: Call) -> Done | Failure:
    count = call.scope.root["n"]
    assert isinstance(count, int)
    return Done({"n": count + 1}, {"n": count + 1})


def _sleep(params: JsonObject, call: Call) -> Outcome:
    if call.woken:
        return Done()
    seconds = params["seconds"]
    assert isinstance(seconds, int | float)
    return Suspend(Phase.PAUSED, "paused", call.now + timedelta(seconds=seconds))


TYPES = {
    name: NodeType(name, kind, "", name, "", {})
    for name, kind in (("SET", NodeKind.PURE), ("TELL", NodeKind.EFFECT), ("SLEEP", NodeKind.WAIT))
}


def random_definition(chance: Random) -> Definition:
    """A chain with forks, joins, a list to go over and at times a loop, so that every path is walked."""
    count = chance.randint(2, 7)
    names = [f"n{place}" for place in range(count)]
    nodes = tuple(_random_node(chance, name, is_start=name == "n0") for name in names)
    edges = [Edge(names[chance.randrange(place)], name) for place, name in enumerate(names) if place > 0]
    pairs = [sorted(chance.sample(range(count), 2)) for _ in range(chance.randint(0, 2))]
    extra = [Edge(names[one], names[two]) for one, two in pairs]
    if chance.random() < 0.3:
        again = Edge(names[-1], names[0], EdgeType.CONDITIONAL, condition="#{n < 3}", value=True)
        counting = Node("count", "SET", {}), Edge(names[-1], "count")
        return Definition("random", (*nodes, counting[0]), (*edges, *extra, counting[1], again))
    return Definition("random", nodes, (*edges, *extra))


def _random_node(chance: Random, name: str, is_start: bool) -> Node:
    match chance.choice(["SET", "TELL", "TELL", "EACH", "SLEEP"]):
        case "EACH":
            config: JsonObject = {"on": "#{{1, 2, 3}}", "say": "#{item}"}
            return Node(name, "TELL", config, is_start=is_start, retry={"maxAttempts": 50})
        case "SLEEP":
            seconds = chance.choice([0.5, 3, 8])
            return Node(name, "SLEEP", {"seconds": seconds}, is_start=is_start)
        case kind:
            return Node(name, kind, {}, is_start=is_start, retry={"maxAttempts": 50})
