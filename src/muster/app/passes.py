"""What an engine does beside driving executions: passes over jobs, schedules and what has expired."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from muster.app.engine_metrics import ScheduleMetrics
from muster.app.ground import Ground
from muster.definitions.library import Library
from muster.engine.actions import Actions
from muster.engine.bulk import Bulk, BulkPass
from muster.engine.control import Control
from muster.engine.housekeeping import Expiring, Housekeeping
from muster.engine.instance import Name
from muster.engine.letters import DeadLetters
from muster.engine.lookout import SELDOM, Sight
from muster.engine.occurrence_pass import OccurrencePass
from muster.engine.ports import NotWritten
from muster.engine.scheduling import Scheduling
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store.bulk_jobs import BulkJobRepository
from muster.store.database import CommitUnknown, Unavailable
from muster.store.due_schedules import DueScheduleRepository
from muster.store.expired import ExpiredRows
from muster.store.near_misses import old_near_misses
from muster.store.old_executions import OldExecutions
from muster.store.outbox import OldPublished
from muster.store.schedules import ScheduleRepository
from muster.store.tables import idempotency_key, node_dedupe

TROUBLE = (Unavailable, CommitUnknown, NotWritten)


@dataclass(frozen=True, slots=True)
class BulkJobs:
    bulk: Bulk
    loop: Loop


@dataclass(frozen=True, slots=True)
class Schedules:
    scheduling: Scheduling
    loop: Loop


def bulk_jobs(
    ground: Ground, name: Name, actions: Actions, letters: DeadLetters, notice: Callable[[], Awaitable[None]]
) -> BulkJobs:
    jobs = BulkJobRepository(ground.database, timedelta(seconds=ground.settings.engine.lease))
    earlier = "" if ground.is_alone else f"{name.instance}/"
    work = BulkPass(jobs, actions, letters, name.owner, earlier, notice, TROUBLE)
    loop = Loop("bulk jobs", partial(_timetable, work), TROUBLE)
    ground.lookout.watch(Sight.JOBS, loop.wake)
    return BulkJobs(Bulk(jobs, ground.ids, loop.wake), loop)


def schedules(ground: Ground, control: Control, library: Library) -> Schedules:
    due = DueScheduleRepository(ground.database)
    occurrences = OccurrencePass(due, control, ScheduleMetrics(ground.registry), TROUBLE, SELDOM)
    loop = Loop("schedules", occurrences.timetable, TROUBLE)
    ground.lookout.watch(Sight.SCHEDULES, loop.wake)
    kept = ScheduleRepository(ground.database)
    return Schedules(Scheduling(kept, control, library, ground.ids, loop.wake), loop)


def housekeeping(ground: Ground) -> Loop:
    database, keys = ground.database, (idempotency_key.c, node_dedupe.c)
    published = timedelta(days=ground.settings.publisher.retention_days)
    kept: list[Expiring] = [
        *(ExpiredRows(database, columns.hash, columns.expires_at) for columns in keys),
        old_near_misses(database),
        OldPublished(database, published),
    ]
    if ground.settings.engine.retention_days:
        kept.append(OldExecutions(database, timedelta(days=ground.settings.engine.retention_days)))
    return Loop("housekeeping", Housekeeping(kept).tidy, TROUBLE)


@asynccontextmanager
async def making(passes: Sequence[Loop], grace: float) -> AsyncIterator[None]:
    """Make these passes until the end of the block; what they are at then may be finished for a while."""
    running = [asyncio.create_task(each.run()) for each in passes]
    try:
        yield
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                for each in passes:
                    await each.stop()
        await ended(*running)


async def _timetable(bulk: BulkPass) -> float:
    """At once again while there is something to do; else when the lookout has seen something."""
    return 0.0 if await bulk.work() else SELDOM
