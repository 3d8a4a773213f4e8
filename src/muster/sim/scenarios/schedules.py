"""Schedules under faults: each occurrence is started once, and none is lost, whoever dies when.

Three instances share a database that fails and loses answers; they crash at any commit, freeze and wake up as
if no time had passed, and start again. Schedules come due every second or two, for workflows that end at once
or rest for a while. In the end the faults stop, everybody catches up, and the executions are compared with
the times that each schedule names.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, insert, select, union_all

from muster.definitions.document import to_document
from muster.definitions.library import Library
from muster.definitions.timetables import timetable
from muster.engine.attempt import Attempts
from muster.engine.control import Control
from muster.engine.drive import Driver
from muster.engine.handlers import Call, Done, Handlers, Outcome, Suspend
from muster.engine.instance import Instance, Name
from muster.engine.occurrence_pass import OccurrencePass
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.engine.state import Failure, Phase
from muster.kit.loop import Loop
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject
from muster.model.node_type import Catalogue, NodeKind, NodeType
from muster.model.schedule import ScheduleOrigin
from muster.model.workflow import Definition, Node, Schedule
from muster.sim.database import FaultyDatabase
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.weather import STORMY_SECONDS, TAKEOVERS, Weather
from muster.sim.template import Template
from muster.sim.world import BEGINNING, World
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.due_schedules import DueScheduleRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.executions import ExecutionRepository
from muster.store.schedule_rows import new_row
from muster.store.tables import metadata, workflow, workflow_execution, workflow_schedule, workflow_version
from muster.store.templates import TemplateRepository
from muster.store.workflows import WorkflowRepository

INSTANCES = 3
LEASE = timedelta(seconds=2)
CALM_SECONDS = 40
TROUBLE = (Unavailable, CommitUnknown, NotWritten)
TYPES = {
    "PASS": NodeType("PASS", NodeKind.PURE, "", "PASS", "", {}),
    "REST": NodeType("REST", NodeKind.WAIT, "", "REST", "", {}),
}
QUICK, RESTING = "quick", "resting"
WORKFLOWS = {
    QUICK: (1, Node("n", "PASS", {}, is_start=True)),
    RESTING: (2, Node("n", "REST", {}, is_start=True)),
}
# The last times come when it is calm.
LAST = BEGINNING + timedelta(seconds=STORMY_SECONDS + 4)
SCHEDULES: dict[str, tuple[str, Schedule]] = {
    "allow": (QUICK, Schedule("CRON", cron_expression="* * * * * *", overlap="allow", misfire="fire_all")),
    "queue": (
        RESTING,
        Schedule("CRON", cron_expression="*/2 * * * * *", overlap="queue", misfire="fire_all"),
    ),
    "skip": (RESTING, Schedule("CRON", cron_expression="* * * * * *", overlap="skip")),
}
LEFT = union_all(
    select(workflow_schedule.c.id).where(workflow_schedule.c.status == "ACTIVE"),
    select(workflow_execution.c.id).where(workflow_execution.c.completed_at.is_(None)),
)
MakeSchedules = type[DueScheduleRepository]


@dataclass(frozen=True)
class Run:
    """An execution that a schedule has started."""

    time: str
    started_at: datetime
    completed_at: datetime | None


def simulate(world: World, make: MakeSchedules = DueScheduleRepository) -> list[str]:
    """Run it in a world; answer what was found wrong."""
    return world.run(partial(_story, make=make))


async def _story(world: World, make: MakeSchedules) -> list[str]:
    ledger = Ledger({})
    database = _template().fresh(world.clock)
    weather = Weather(world, ledger)
    places = [_Place(world, weather, database, number, make) for number in range(INSTANCES)]
    lives = [world.outside(place.live_again_and_again(), place.name) for place in places]
    await asyncio.sleep(STORMY_SECONDS)
    world.note("world", "it is calm")
    ledger.calm = True
    await _until_all_is_over(database)
    wrong = [f"{life.get_name()} gave up: {life.exception()!r}" for life in lives if life.done()]
    for life in lives:
        life.cancel()
    runs, skips = await database.read(_runs), await database.read(_skips)
    for name, (_, schedule) in SCHEDULES.items():
        wrong += [f"{name}: {each}" for each in _judge(schedule, runs.get(name, []), name in skips)]
    return wrong


async def _until_all_is_over(database: Database) -> None:
    for _ in range(CALM_SECONDS):
        await asyncio.sleep(1)
        if not await database.read(lambda connection: connection.execute(LEFT).first()):
            return


def _judge(schedule: Schedule, runs: list[Run], has_skipped: bool) -> list[str]:
    """What is wrong with what a schedule has started."""
    times = [run.time for run in runs]
    named = [_text(each) for each in timetable(schedule).upcoming(BEGINNING, 100) if each <= LAST]
    wrong = [f"{time} was started twice" for time in set(times) if times.count(time) > 1]
    wrong += [f"{time} is none of its times" for time in times if time not in named]
    wrong += [f"{run.time} has not ended" for run in runs if run.completed_at is None]
    lost = [time for time in named if time not in times]
    if schedule.overlap != "skip":
        wrong += [f"{time} was never started" for time in lost]
    elif lost and not has_skipped:
        wrong.append(f"{lost[0]} was left out, and nobody was told")
    if schedule.overlap != "allow":
        wrong += _overlaps(runs, schedule.overlap)
    return wrong


def _overlaps(runs: list[Run], overlap: str) -> list[str]:
    if overlap == "queue":
        return []  # `started_at` is when it was queued
    ordered = sorted(runs, key=lambda run: run.started_at)
    return [
        f"{two.time} began before {one.time} had ended"
        for one, two in pairwise(ordered)
        if one.completed_at is not None and two.started_at < one.completed_at
    ]


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _runs(connection: Connection) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for row in connection.execute(select(workflow_execution).order_by(workflow_execution.c.id)):
        given: Any = row.given
        run = Run(given["_trigger"]["scheduledTime"], row.started_at, row.completed_at)
        found.setdefault(row.trigger_id, []).append(run)
    return found


def _skips(connection: Connection) -> set[str]:
    skipped = workflow_schedule.c.last_skipped_at.is_not(None)
    return set(connection.scalars(select(workflow_schedule.c.id).where(skipped)))


@cache
def _template() -> Template:
    return Template(_prepare)


def _prepare(connection: Connection) -> None:
    metadata.create_all(connection)
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "SCHEDULED"}
    times = {"created_at": BEGINNING, "updated_at": BEGINNING}
    for key, (version, node) in WORKFLOWS.items():
        head = {"id": key, "key": key, "name": key, "active_version_id": version, **kinds, **times}
        connection.execute(insert(workflow), [head])
        document = to_document(Definition(key, (node,), (), key=key))
        made = {"workflow_id": key, "checksum": "", "created_by": "", "created_at": BEGINNING}
        row = {"id": version, "version": 1, "definition": document, **made}
        connection.execute(insert(workflow_version), [row])
    for name, (key, schedule) in SCHEDULES.items():
        ending = replace(schedule, end_date=_text(LAST))
        row = new_row(name, key, "", ScheduleOrigin.API, ending, BEGINNING)
        connection.execute(insert(workflow_schedule), [row])


class _Place:
    """Where an instance runs, crashes, and starts again under the same name."""

    def __init__(
        self, world: World, weather: Weather, database: Database, number: int, make: MakeSchedules
    ) -> None:
        self.name = f"instance-{number}"
        self._world, self._weather, self._database, self._make = world, weather, database, make
        self._chance = world.chance(self.name)

    async def live_again_and_again(self) -> None:
        await self._weather.live_again_and_again(self.name, self._live, self._chance)

    async def _live(self) -> None:
        clock, ids, chance = self._world.clock, self._world.ids, self._chance.random
        database = FaultyDatabase(self._database, self._world, self._weather.over_database())
        committer = GroupCommitter(database)
        executions = ExecutionRepository(database, committer, LEASE)
        handlers = Handlers({}, {"PASS": _pass}, {"REST": _rest}, {})
        driver = Driver(executions, Attempts(handlers, executions, clock, chance, LEASE), clock, chance)
        workflows = WorkflowRepository(database, clock)
        programs = Programs(workflows.document, TYPES)
        name = Name(self.name, ids.new())
        instance = Instance(name, executions, driver, programs.of, clock, LEASE, most_takeovers=TAKEOVERS)
        library = Library(workflows, TemplateRepository(database, clock), Catalogue(TYPES), ids)
        control = Control(instance, ExecutionRecords(database), library, programs, clock, ids)
        occurrences = OccurrencePass(self._make(database), control, _Nobody(), TROUBLE)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(instance.run())
            tasks.create_task(Loop("schedules", occurrences.timetable, TROUBLE).run())


class _Nobody:
    """Hears, and tells nobody."""

    def occurred(self, outcome: str, lateness: float | None = None) -> None:
        pass


def _pass(config: JsonObject, call: Call) -> Done | Failure:
    return Done({})


def _rest(params: JsonObject, call: Call) -> Outcome:
    if call.woken:
        return Done({})
    return Suspend(Phase.PAUSED, NodeStatus.PAUSED, call.now + timedelta(seconds=1.5))
