"""The engine, put together: what drives executions in this process, and how others reach them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from muster.app.cache import SharedCache
from muster.app.commands import command_edits
from muster.app.definitions import Definitions
from muster.app.driving import driving, instance_of, programs_of
from muster.app.engine_metrics import InstanceMetrics
from muster.app.ground import Ground
from muster.app.instances import among_others, identity_of
from muster.app.passes import bulk_jobs, housekeeping, making, schedules
from muster.app.wake_ups import wake_ups_of, waking
from muster.engine.actions import Actions
from muster.engine.bulk import Bulk
from muster.engine.control import Control
from muster.engine.following import Following
from muster.engine.handlers import Handlers
from muster.engine.instance import Name
from muster.engine.instances import Instances
from muster.engine.letters import DeadLetters, redrivers
from muster.engine.observer import Observer
from muster.engine.outbox import Stream
from muster.engine.resending import Resending
from muster.engine.scheduling import Scheduling
from muster.engine.taker import Taker
from muster.engine.tracing import Tracer
from muster.nodes.message_schemas import MessageSchemas
from muster.store.acts import ExecutionActs
from muster.store.dead_letters import DeadLetterRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.sightings import ExecutionSightings

AT_ONCE = 0.0


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
    taker: Taker
    retire: Callable[[], None]


@asynccontextmanager
async def running_engine(
    ground: Ground,
    definitions: Definitions,
    handlers: Handlers,
    observer: Observer,
    instances: Instances,
    schemas: MessageSchemas,
    shared: SharedCache | None = None,
    tracer: Tracer | None = None,
) -> AsyncIterator[Engine]:
    """Drive executions until the end of the block; nodes that run then may finish for a while.

    Without the role `engine` nothing is driven: what is started here is ready for instances that have it.
    """
    settings, clock, ids, library = ground.settings, ground.clock, ground.ids, definitions.library
    name = Name(settings.instance_id, ids.new())
    contexts = shared.contexts(name.owner, clock) if shared else None
    wake_ups = wake_ups_of(settings)
    programs = programs_of(definitions)
    ring = wake_ups.ring if wake_ups else None
    instance = instance_of(ground, name, definitions, programs, handlers, observer, contexts, ring, tracer)
    records = ExecutionRecords(ground.database)
    control = Control(instance, records, library, programs, clock, ids)
    following = Following(ExecutionSightings(ground.database), programs.of)
    acts = ExecutionActs(ground.committer)
    actions = Actions(records, acts, library, programs, clock, ids, instance.notice)
    kept = DeadLetterRepository(ground.database, ground.committer)
    sent = partial(ground.written.tell, Stream.EXECUTIONS)
    edits = command_edits(records, programs, schemas)
    resending = (Resending(kept, sent), Resending(kept, sent, edits))
    letters = DeadLetters(kept, redrivers(actions, *resending))
    jobs = bulk_jobs(ground, name, actions, letters, instance.notice)
    timed = schedules(ground, control, library)
    who, counted = identity_of(settings, name.incarnation), InstanceMetrics(ground.registry).tell
    async with (
        among_others(instances, who, lambda: instance.driving, counted) as say_leaving,
        waking(wake_ups, instance, ground.written),
    ):

        def retire() -> None:
            instance.retire()
            say_leaving()

        engine = Engine(
            control,
            following,
            actions,
            letters,
            jobs.bulk,
            timed.scheduling,
            lambda: instance.driving,
            instance,
            retire,
        )
        if not ground.has_engine:
            instance.retire()
            yield engine
            return
        grace = settings.engine.shutdown_grace
        async with (
            making([housekeeping(ground)], AT_ONCE),
            driving(instance, contexts, grace),
            making([timed.loop, jobs.loop], grace),
        ):
            yield engine
