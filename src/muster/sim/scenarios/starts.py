"""Starts and nodes with keys under faults: of all that have one key one begins, and it is never lost.

Three instances crash, freeze and start again over a database that fails and loses answers. Clients ask for
the same few starts again and again, of whichever instance, until they have heard an answer, and after it. One
workflow fails, and the starts of it may be tried again: there, one at a time may be anything but failed.
What works has a node that all executions have one key for: one does it, perhaps again after a crash, and the
others skip it.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from random import Random
from typing import TypeVar

from sqlalchemy import Connection, insert, text
from sqlalchemy.exc import DBAPIError

from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.handlers import Call, Done, Handlers
from muster.engine.instance import Instance, Name
from muster.engine.owned import Begun, NewExecution
from muster.engine.ports import NotWritten
from muster.engine.program import Program, compile_program
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.once import once
from muster.model.workflow import Definition, Node
from muster.sim.database import FaultyDatabase
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.weather import STORMY_SECONDS, TAKEOVERS, Weather
from muster.sim.template import Template
from muster.sim.world import BEGINNING, World
from muster.store.committer import GroupCommitter
from muster.store.database import Database, Work
from muster.store.executions import ExecutionRepository
from muster.store.tables import metadata, workflow, workflow_version

T = TypeVar("T")
INSTANCES = 3
LEASE = timedelta(seconds=2)
CALM_SECONDS = 60
WORKS, FAILS = 1, 2
# Which version the starts with each key are of.
KEYS = {"a": WORKS, "b": WORKS, "c": WORKS, "f": FAILS}
OF_KEYS = """
SELECT idempotency_key, id, status FROM workflow_execution WHERE idempotency_key IS NOT NULL ORDER BY id
"""
VISITS = """
SELECT execution_id, node_execution.status FROM node_execution JOIN workflow_execution ON id = execution_id
WHERE workflow_version_id = 1 AND item_key = '' ORDER BY execution_id
"""
TYPES = {"TELL": NodeType("TELL", NodeKind.EFFECT, "", "tell", "", {})}

MakeExecutions = type[ExecutionRepository]
Rows = list[tuple[str, str, str]]
Visits = list[tuple[str, str]]


@dataclass
class Heard:
    """What clients were told, by key: how often which execution, and which of them began by it. `doers` are
    the executions that did what may be done once."""

    told: dict[str, Counter[str]] = field(default_factory=lambda: {key: Counter() for key in KEYS})
    begun: Counter[str] = field(default_factory=Counter)
    doers: set[str] = field(default_factory=set)

    def take(self, key: str, begun: Begun) -> None:
        self.told[key][begun.id] += 1
        self.begun[begun.id] += not begun.duplicate


def simulate(world: World, make: MakeExecutions = ExecutionRepository) -> list[str]:
    """Run it in a world; answer what was found wrong."""
    return world.run(partial(_story, make=make))


async def _story(world: World, make: MakeExecutions) -> list[str]:
    ledger, heard = Ledger({}), Heard()
    database = _Watched(_template().fresh(world.clock), ledger)
    weather = Weather(world, ledger)
    places = [_Place(world, ledger, weather, heard, database, number, make) for number in range(INSTANCES)]
    lives = [world.outside(place.live_again_and_again(), place.name) for place in places]
    await asyncio.sleep(STORMY_SECONDS)
    world.note("world", "it is calm")
    ledger.calm = True
    rows: Rows = []
    for _ in range(CALM_SECONDS):
        await asyncio.sleep(1)
        rows = await database.read(_rows)
        everybody_heard = all(heard.told[key] for key in KEYS)
        if everybody_heard and all(status in ("COMPLETED", "FAILED") for _, _, status in rows):
            break
    ledger.blame([f"{life.get_name()} gave up: {life.exception()!r}" for life in lives if life.done()])
    for task in lives:
        task.cancel()
    ledger.blame(at_end(rows, heard))
    ledger.blame(done_once(await database.read(_visits), heard.doers))
    return ledger.wrong


# --- what must hold --------------------------------------------------------------------------------


def at_commit(rows: Rows) -> list[str]:
    """Whatever has begun with a key, at most one of it has not failed."""
    good = Counter(key for key, _, status in rows if status != "FAILED")
    return [f"begun twice: {key}" for key, count in good.items() if count > 1]


def at_end(rows: Rows, heard: Heard) -> list[str]:
    wrong = [f"unfinished: {name} of {key} is {status}" for key, name, status in rows if status == "RUNNING"]
    for key, version in KEYS.items():
        mine = {name for of, name, _ in rows if of == key}
        wrong += [f"lost: {name} of {key}" for name in heard.told[key] if name not in mine]
        wrong += [f"unheard: {key}"] if not heard.told[key] else []
        wrong += [f"several: {key} has {len(mine)}"] if version == WORKS and len(mine) > 1 else []
    return wrong + [f"told twice that it began: {name}" for name, count in heard.begun.items() if count > 1]


def done_once(visits: Visits, doers: set[str]) -> list[str]:
    """One execution does it and says so, and all others skip it."""
    did = [name for name, status in visits if status == "completed"]
    wrong = [f"done by {len(doers)}"] if len(doers) != 1 else []
    wrong += [f"said to be done by {len(did)}"] if len(did) != 1 else []
    wrong += [f"neither done nor skipped: {name}" for name, status in visits if status == "paused"]
    return wrong + [f"said to be done, and was not: {name}" for name in did if name not in doers]


def _visits(connection: Connection) -> Visits:
    return [(name, status) for name, status in connection.execute(text(VISITS))]


def _rows(connection: Connection) -> Rows:
    return [(key, name, status) for key, name, status in connection.execute(text(OF_KEYS))]


class _Watched:
    """The database, looked at after every commit."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
        self._database, self._ledger = database, ledger
        self.dialect_name = database.dialect_name

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        result, rows = await self._database.write(lambda connection: (work(connection), _rows(connection)))
        self._ledger.blame(at_commit(rows))
        return result

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        return await self._database.read(work)

    async def close(self) -> None:
        await self._database.close()


# --- the instances and their clients ---------------------------------------------------------------


class _Place:
    """Where an instance runs, crashes, and starts again under the same name."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        weather: Weather,
        heard: Heard,
        database: Database,
        number: int,
        make: MakeExecutions,
    ) -> None:
        self.name = f"instance-{number}"
        self._world, self._ledger, self._weather, self._heard = world, ledger, weather, heard
        self._database, self._make = database, make
        self._chance = world.chance(self.name)

    async def live_again_and_again(self) -> None:
        await self._weather.live_again_and_again(self.name, self._live, self._chance)

    async def _live(self) -> None:
        clock, ids, chance = self._world.clock, self._world.ids, self._chance.random
        database = FaultyDatabase(self._database, self._world, self._weather.over_database())
        executions = self._make(database, GroupCommitter(database), LEASE)
        attempts = Attempts(Handlers({"TELL": self._tell}, {}, {}), executions, clock, chance, LEASE)
        driver = Driver(executions, attempts, clock, chance)
        name = Name(self.name, ids.new())
        instance = Instance(name, executions, driver, _program, clock, LEASE, most_takeovers=TAKEOVERS)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(instance.run())
            for number in range(3):
                tasks.create_task(self._ask(instance, self._world.chance(f"{self.name} client {number}")))

    async def _tell(self, params: JsonObject, call: Call) -> Done | Failure:
        if not params["fails"]:
            self._heard.doers.add(call.execution_id)
        await asyncio.sleep(0.2)
        return Failure("No", "it never works") if params["fails"] else Done()

    async def _ask(self, instance: Instance, chance: Random) -> None:
        """A client: it asks until it has heard, and once it is calm no longer than that."""
        while True:
            await asyncio.sleep(chance.random())
            unheard = [key for key in KEYS if not self._heard.told[key]]
            if self._ledger.calm and not unheard:
                return
            key = chance.choice(unheard if self._ledger.calm else list(KEYS))
            for begun in await asyncio.gather(*(self._start(instance, key) for _ in range(2))):
                if begun is not None:
                    self._heard.take(key, begun)

    async def _start(self, instance: Instance, key: str) -> Begun | None:
        """None: nobody knows whether it was written."""
        version, owner, at = KEYS[key], instance.name.owner, self._world.clock.now()
        own = once("", "w", ("client", key), key=key, retry_failed=version == FAILS)
        new = NewExecution(self._world.ids.new(), "w", version, "", owner, {}, at, once=own)
        try:
            return await instance.start(new)
        except (NotWritten, DBAPIError):
            return None


async def _program(version: int) -> Program:
    return _programs()[version]


@cache
def _programs() -> dict[int, Program]:
    def program(fails: bool) -> Program:
        # Whoever fails would let go of it: what is done once is another node's.
        dedupe: JsonObject = {"key": "the same for all"}
        node = Node("tell", "TELL", {"fails": fails}, is_start=True, dedupe=None if fails else dedupe)
        return compile_program(Definition("w", (node,), ()), TYPES)

    return {WORKS: program(False), FAILS: program(True)}


@cache
def _template() -> Template:
    return Template(_prepare)


def _prepare(connection: Connection) -> None:
    metadata.create_all(connection)
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    times = {"created_at": BEGINNING, "updated_at": BEGINNING}
    connection.execute(insert(workflow), [{"id": "w", "key": "w", "name": "w", **kinds, **times}])
    made = {"workflow_id": "w", "definition": {}, "checksum": "", "created_by": "", "created_at": BEGINNING}
    connection.execute(
        insert(workflow_version), [{"id": number, "version": number, **made} for number in (WORKS, FAILS)]
    )
