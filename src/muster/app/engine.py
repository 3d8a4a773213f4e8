"""The engine, put together: what drives executions in this process, and how others reach them."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from prometheus_client import CollectorRegistry, Histogram

from muster.app.bus import made_bus
from muster.app.cache import SharedCache
from muster.app.instances import among_others, identity_of
from muster.app.settings import Settings
from muster.app.subworkflows import StartableWorkflows
from muster.app.wake_ups import wake_ups_of, waking
from muster.definitions.library import Library
from muster.engine.actions import Actions
from muster.engine.attempt import Attempts
from muster.engine.bulk import Bulk, BulkPass
from muster.engine.bus import Publisher
from muster.engine.control import Control
from muster.engine.drive import Driver
from muster.engine.following import Following
from muster.engine.handlers import Handlers
from muster.engine.housekeeping import Expiring, Housekeeping
from muster.engine.instance import Instance, Name
from muster.engine.instances import Counts, Instances
from muster.engine.letters import DeadLetters, redrivers
from muster.engine.masking import Secrets
from muster.engine.observer import Observer
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.engine.resending import Resending
from muster.engine.schedules import OccurrenceObserver, OccurrencePass, Scheduling
from muster.kit.clock import Clock, SystemClock
from muster.kit.ids import Ids, TimeOrderedIds
from muster.kit.loop import Loop
from muster.model.json import JsonObject
from muster.model.node_type import Catalogue
from muster.nodes.sub_workflow import SubWorkflow
from muster.store.acts import ExecutionActs
from muster.store.bulk_jobs import BulkJobRepository
from muster.store.child_items import ChildItems
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.dead_letters import DeadLetterRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.executions import ExecutionRepository
from muster.store.expired import ExpiredRows
from muster.store.near_misses import OldNearMisses
from muster.store.schedules import ScheduleRepository
from muster.store.sightings import ExecutionSightings
from muster.store.tables import idempotency_key, node_dedupe
from muster.store.templates import TemplateRepository
from muster.store.workflows import WorkflowRepository

LOOK_FOR_JOBS_EVERY = 1.0
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class CommitMetrics:
    """How large the committer's batches are, and how long they take."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sizes = Histogram(
            "muster_commit_batch_size", "Writes in one commit.", registry=registry, buckets=SIZES
        )
        self._seconds = Histogram(
            "muster_commit_seconds", "Seconds that a commit took.", registry=registry, buckets=SECONDS
        )

    def observe(self, size: int, seconds: float) -> None:
        self._sizes.observe(size)
        self._seconds.observe(seconds)


@dataclass(frozen=True, slots=True)
class Engine:
    """How others reach executions and follow them, and how this process is told that its end is near."""

    control: Control
    following: Following
    actions: Actions
    letters: DeadLetters
    bulk: Bulk
    scheduling: Scheduling
    driving: Callable[[], int]
    retire: Callable[[], None]


@asynccontextmanager
async def running_engine(
    settings: Settings,
    database: Database,
    committer: GroupCommitter,
    starts: GroupCommitter,
    bus: Publisher,
    workflows: WorkflowRepository,
    library: Library,
    catalogue: Catalogue,
    handlers: Handlers,
    secrets: Secrets,
    clock: Clock,
    ids: Ids,
    observer: Observer,
    occurrences: OccurrenceObserver,
    instances: Instances,
    counted: Callable[[Counts], None],
    shared: SharedCache | None = None,
) -> AsyncIterator[Engine]:
    """Drive executions until the end of the block; nodes that run then may finish for a while.

    Without the role `engine` nothing is driven: what is started here is ready for instances that have it.
    """
    lease = timedelta(seconds=settings.engine.lease)
    name = Name(settings.instance_id, ids.new())
    contexts = shared.contexts(name.owner, clock) if shared else None
    executions = ExecutionRepository(database, committer, lease, contexts is not None, starts)
    programs = Programs(partial(_document, workflows), catalogue.node_types)
    sub_workflow = SubWorkflow(StartableWorkflows(workflows, programs), ChildItems(database))
    handlers = replace(handlers, openers={**handlers.openers, "SUB_WORKFLOW": sub_workflow})
    attempts = Attempts(handlers, executions, clock, random.random, lease, secrets)
    driver = Driver(executions, attempts, clock, random.random, observer, contexts)
    # SQLite's folder has one owner, so whatever another name held there is held by nobody.
    alone = database.dialect_name == "sqlite"
    most = settings.engine.takeovers
    wake_ups = wake_ups_of(settings)
    instance = Instance(
        name,
        executions,
        driver,
        programs.of,
        clock,
        lease,
        alone,
        observer,
        most,
        ring=wake_ups.ring if wake_ups else None,
        at_hand=contexts,
        stuck_after=timedelta(seconds=settings.engine.stuck_after) if settings.engine.stuck_after else None,
    )
    records = ExecutionRecords(database)
    control = Control(instance, records, library, programs, clock, ids)
    following = Following(ExecutionSightings(database), programs.of)
    acts = ExecutionActs(committer)
    actions = Actions(records, acts, library, programs, clock, ids, instance.notice)
    kept_letters = DeadLetterRepository(database, committer)
    letters = DeadLetters(kept_letters, redrivers(actions, Resending(bus, kept_letters)))
    jobs = BulkJobRepository(database, lease)
    earlier = "" if alone else f"{settings.instance_id}/"
    trouble = (Unavailable, CommitUnknown, NotWritten)
    bulk_pass = BulkPass(jobs, actions, letters, name.owner, earlier, instance.notice, trouble)
    bulk_loop = Loop("bulk jobs", partial(_timetable, bulk_pass), trouble)
    bulk = Bulk(jobs, ids, bulk_loop.wake)
    expiring = [ExpiredRows(database, table) for table in (idempotency_key, node_dedupe)]
    kept: list[Expiring] = [*expiring, OldNearMisses(database)]
    housekeeping = Loop("housekeeping", Housekeeping(kept).tidy, trouble)
    schedules = ScheduleRepository(database)
    occurrence_pass = OccurrencePass(schedules, control, occurrences, trouble)
    schedule_loop = Loop("schedules", occurrence_pass.timetable, trouble)
    scheduling = Scheduling(schedules, control, library, ids, schedule_loop.wake)
    who = identity_of(settings, name.incarnation)
    async with (
        among_others(instances, who, lambda: instance.driving, counted) as say_leaving,
        waking(wake_ups, instance),
    ):

        def retire() -> None:
            instance.retire()
            say_leaving()

        engine = Engine(
            control, following, actions, letters, bulk, scheduling, lambda: instance.driving, retire
        )
        if "engine" not in settings.roles:
            instance.retire()
            yield engine
            return
        loops = (instance, bulk_loop, schedule_loop, housekeeping)
        running = [asyncio.create_task(each.run()) for each in loops]
        if contexts:
            running.append(asyncio.create_task(contexts.run(instance.doubt_leases)))
        try:
            yield engine
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(settings.engine.shutdown_grace):
                    await schedule_loop.stop()
                    await bulk_loop.stop()
            await instance.leave(settings.engine.shutdown_grace)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            if contexts:
                await contexts.close()


async def _document(workflows: WorkflowRepository, version_id: int) -> JsonObject:
    """That the store is away says nothing about the version."""
    try:
        return await workflows.document(version_id)
    except Unavailable as away:
        raise NotWritten(str(away)) from away


async def _timetable(bulk: BulkPass) -> float:
    """At once again while there is something to do; and a look every second for what others have left."""
    return 0.0 if await bulk.work() else LOOK_FOR_JOBS_EVERY


@asynccontextmanager
async def dead_letters(
    settings: Settings,
    database: Database,
    workflows: WorkflowRepository,
    templates: TemplateRepository,
    catalogue: Catalogue,
) -> AsyncIterator[DeadLetters]:
    """Dead letters beside an instance that may be running elsewhere: it finds what was tried again. Raises
    `BadClient`."""

    async def notice() -> None:
        """Nobody drives executions here."""

    clock, committer = SystemClock(), GroupCommitter(database)
    ids = TimeOrderedIds(clock)
    library = Library(workflows, templates, catalogue, ids)
    programs = Programs(workflows.document, catalogue.node_types)
    acts, records = ExecutionActs(committer), ExecutionRecords(database)
    actions = Actions(records, acts, library, programs, clock, ids, notice)
    try:
        async with made_bus(settings, database, committer, ids) as bus:
            kept = DeadLetterRepository(database, committer)
            yield DeadLetters(kept, redrivers(actions, Resending(bus, kept)))
    finally:
        await committer.close()
