"""How a run goes, and the instances in it."""

import asyncio
from datetime import timedelta
from functools import cache, partial

from sqlalchemy import Connection, insert
from sqlalchemy.exc import DBAPIError

from muster.definitions.document import to_document
from muster.definitions.library import Library
from muster.engine.actions import Actions
from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.handlers import Handlers
from muster.engine.instance import Instance, Name
from muster.engine.owned import NewExecution
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.kit.backoff import until_it_works
from muster.kit.clock import Clock
from muster.kit.loop import Loop
from muster.model.json import JsonObject
from muster.model.node_type import Catalogue
from muster.nodes.approval import approval
from muster.nodes.sub_workflow import SubWorkflow
from muster.sim.database import FaultyDatabase
from muster.sim.scenarios.engine.aimed import Aim, AimedCaching, Still
from muster.sim.scenarios.engine.caching import Caching, content_with_a_cache
from muster.sim.scenarios.engine.invariants import at_end, not_given_up, unfinished
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.machines import Machine
from muster.sim.scenarios.engine.people import People
from muster.sim.scenarios.engine.sink import Sink
from muster.sim.scenarios.engine.watch import WatchedDatabase, steps, watched
from muster.sim.scenarios.engine.weather import STORMY_SECONDS, TAKEOVERS, Weather
from muster.sim.scenarios.engine.workflows import (
    TYPES,
    TheChild,
    ask,
    child_definition,
    culprit_definition,
    given,
    kill,
    random_definition,
    set_,
    sleep,
)
from muster.sim.template import Template
from muster.sim.world import BEGINNING, World
from muster.store.acts import ExecutionActs
from muster.store.approvals import ApprovalRepository
from muster.store.child_items import ChildItems
from muster.store.clock import DatabaseClock
from muster.store.committer import GroupCommitter
from muster.store.database import Database, Unavailable
from muster.store.execution_records import ExecutionRecords
from muster.store.executions import ExecutionRepository
from muster.store.self_check import SelfCheck
from muster.store.tables import metadata, workflow, workflow_version
from muster.store.templates import TemplateRepository
from muster.store.workflows import WorkflowRepository

INSTANCES = 3
VERSIONS = (1, 2)
CHILD_VERSION, CULPRIT_VERSION = 3, 4
CULPRITS_IN = 0.2
LEASE = timedelta(seconds=2)
CALM_SECONDS = 300
MOST_EXECUTIONS = 8

# Of an instance's lives, so many end as asked: it drains and leaves.
LEAVES_IN = 0.3

MakeExecutions = type[ExecutionRepository]


class _Left(Exception):
    """An instance has ended as it was asked to."""


def simulate(world: World, make: MakeExecutions = ExecutionRepository, aim: Aim | None = None) -> list[str]:
    """Run it in a world; answer what was found wrong. With an `aim`, nothing else goes wrong."""
    return world.run(partial(_story, make=make, aim=aim))


async def _story(world: World, make: MakeExecutions, aim: Aim | None) -> list[str]:
    graphs = world.chance("graph")
    definitions = {version: random_definition(graphs) for version in VERSIONS}
    definitions[2] = content_with_a_cache(world, definitions[2])
    kept = {**definitions, CHILD_VERSION: child_definition(graphs), CULPRIT_VERSION: culprit_definition()}
    ledger = Ledger(kept, frozenset({CULPRIT_VERSION}))
    database = WatchedDatabase(_template().fresh(world.clock), ledger)
    weather = Weather(world, ledger) if aim is None else Still(world, ledger)
    caching = Caching(world, ledger) if aim is None else AimedCaching(world, ledger, weather, aim)
    sink = Sink(world, ledger, weather)
    serving = world.outside(sink.serve(), "sink")
    places = [
        _Place(world, ledger, weather, caching, sink, database, number, make) for number in range(INSTANCES)
    ]
    lives = [world.outside(place.live_again_and_again(), place.name) for place in places]
    names = [place.name for place in places]
    world.outside(weather.part_some(names), "partitions")
    if caching.redis:
        world.outside(caching.go_wrong(names), "blows")
    await asyncio.sleep(STORMY_SECONDS)
    world.note("world", "it is calm")
    ledger.calm = True
    await _until_all_have_ended(ledger, database)
    ledger.blame([f"{life.get_name()} gave up: {life.exception()!r}" for life in lives if life.done()])
    for task in (*lives, serving):
        task.cancel()
    journals = await database.read(steps)
    for row in ledger.seen.rows.values():
        if row.version in ledger.culprits:
            ledger.blame(unfinished(row) + not_given_up(row, row.id in ledger.cancelled))
            continue
        definition, journal = ledger.definitions[row.version], journals.get(row.id, [])
        is_child = row.version == CHILD_VERSION
        # A child is cancelled with its parent, too.
        by_hand, cancelled = row.id in ledger.retried, is_child or row.id in ledger.cancelled
        context = given(definition) | ({"workflowId": "w", "instituteId": ""} if is_child else {})
        ledger.blame(at_end(row, definition, journal, context, sink.done, by_hand, cancelled))
    return ledger.wrong


async def _until_all_have_ended(ledger: Ledger, database: Database) -> None:
    for _ in range(CALM_SECONDS):
        await asyncio.sleep(1)
        ledger.blame([f"the self-check found {name}" for name in await SelfCheck(database).unattended()])
        if all(row.ended for row in ledger.seen.rows.values()):
            return


@cache
def _template() -> Template:
    return Template(_prepare)


def _prepare(connection: Connection) -> None:
    metadata.create_all(connection)
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    times = {"created_at": BEGINNING, "updated_at": BEGINNING}
    connection.execute(insert(workflow), [{"id": "w", "key": "w", "name": "w", **kinds, **times}])
    made = {"workflow_id": "w", "definition": {}, "checksum": "", "created_by": "", "created_at": BEGINNING}
    versions = [
        {"id": number, "version": number, **made} for number in (*VERSIONS, CHILD_VERSION, CULPRIT_VERSION)
    ]
    connection.execute(insert(workflow_version), versions)


class _Place:
    """Where an instance runs, crashes, and starts again under the same name."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        weather: Weather,
        caching: Caching,
        sink: Sink,
        database: Database,
        number: int,
        make: MakeExecutions,
    ) -> None:
        self.name = f"instance-{number}"
        self._world, self._ledger, self._weather, self._sink = world, ledger, weather, sink
        self._caching = caching
        self._database, self._make = database, make
        self._machine = Machine(world, self.name)
        self._chance = world.chance(self.name)
        self._leaving = world.chance(f"{self.name}/leaving")
        self._joins_after = self._leaving.choice([0.0, STORMY_SECONDS / 2]) if number else 0.0
        has_culprit = number == 0 and self._chance.random() < CULPRITS_IN
        self._versions = (*VERSIONS, CULPRIT_VERSION) if has_culprit else VERSIONS

    async def live_again_and_again(self) -> None:
        await asyncio.sleep(self._joins_after)
        await self._weather.live_again_and_again(self.name, self._live, self._chance)

    async def _live(self) -> None:
        ids, chance = self._world.ids, self._chance.random
        database = FaultyDatabase(
            self._database,
            self._world,
            self._weather.over_database(),
            reachable=partial(self._weather.reaches_database, self.name),
        )
        clock = DatabaseClock(database, self._machine, self._machine.seconds)
        await until_it_works(clock.look, Unavailable, _nobody)
        committer = GroupCommitter(database)
        name = Name(self.name, ids.new())
        contexts = self._caching.contexts(self.name, name.owner)
        executions = watched(self._make, self._ledger)(database, committer, LEASE, contexts is not None)
        waits = {"SLEEP": sleep, "ASK": ask, "APPROVAL": approval}
        calls = {"CALL": SubWorkflow(TheChild(CHILD_VERSION), ChildItems(database))}
        handlers = Handlers({"TELL": self._sink.tell, "KILL": kill}, {"SET": set_}, waits, calls)
        attempts = Attempts(handlers, executions, clock, chance, LEASE)
        driver = Driver(executions, attempts, clock, chance, at_hand=contexts)
        programs = Programs(self._document, TYPES)
        instance = Instance(
            name,
            executions,
            driver,
            programs.of,
            clock,
            LEASE,
            most_takeovers=TAKEOVERS,
            at_hand=contexts,
        )
        workflows, templates = WorkflowRepository(database, clock), TemplateRepository(database, clock)
        library = Library(workflows, templates, Catalogue(TYPES), ids)
        records, acts = ExecutionRecords(database), ExecutionActs(committer)
        actions = Actions(records, acts, library, programs, clock, ids, instance.notice)
        approvals = ApprovalRepository(database)
        people = People(actions, acts, approvals, self._ledger, self._chance)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(Loop("the clock", clock.look, (Unavailable,)).run())
                tasks.create_task(instance.run())
                if contexts:
                    tasks.create_task(contexts.run(instance.doubt_leases))
                tasks.create_task(self._start_some(instance, clock))
                tasks.create_task(people.meddle())
                tasks.create_task(people.tidy_up())
                tasks.create_task(self._leave_some_time(instance))
        except* _Left:
            if contexts:
                await contexts.close()
            self._world.note(self.name, "has left")

    async def _leave_some_time(self, instance: Instance) -> None:
        """As in a rolling restart: it takes no work, what runs has a while to finish, the rest is handed on.
        It comes back as a new incarnation."""
        draw = self._leaving
        if draw.random() > LEAVES_IN:
            return
        await asyncio.sleep(draw.random() * STORMY_SECONDS)
        if self._ledger.calm:
            return
        instance.retire()
        await asyncio.sleep(draw.choice([0.0, 0.3]))
        await instance.leave(draw.choice([0.0, 0.5, 1.5]))
        raise _Left

    async def _document(self, version_id: int) -> JsonObject:
        return to_document(self._ledger.definitions[version_id])

    async def _start_some(self, instance: Instance, clock: Clock) -> None:
        for _ in range(self._chance.randint(1, 3)):
            await asyncio.sleep(self._chance.random() * STORMY_SECONDS / 3)
            if self._ledger.calm or len(self._ledger.seen.rows) >= MOST_EXECUTIONS:
                return
            at, owner = clock.now(), instance.name.owner
            version = self._chance.choice(self._versions)
            context = given(self._ledger.definitions[version])
            new = NewExecution(self._world.ids.new(), "w", version, "", owner, context, at)
            try:
                await instance.start(new)
            except (NotWritten, DBAPIError):
                continue
            self._ledger.accepted.add(new.id)


def _nobody(_: Exception) -> None:
    """Nobody is told that the database is away."""
