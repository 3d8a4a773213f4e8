"""What drives executions in this process, put together."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

from muster.app.definitions import Definitions
from muster.app.ground import Ground
from muster.app.subworkflows import StartableWorkflows
from muster.engine.attempt import Attempts
from muster.engine.contexts import CachedContexts
from muster.engine.drive import Driver
from muster.engine.handlers import Handlers
from muster.engine.instance import Instance, Name
from muster.engine.lookout import SELDOM, Sight
from muster.engine.observer import Observer
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.engine.tracing import Tracer
from muster.kit.tasks import ended
from muster.model.json import JsonObject
from muster.nodes.sub_workflow import SubWorkflow
from muster.store.child_items import ChildItems
from muster.store.database import Unavailable
from muster.store.executions import ExecutionRepository
from muster.store.workflows import WorkflowRepository


def instance_of(
    ground: Ground,
    name: Name,
    definitions: Definitions,
    programs: Programs,
    handlers: Handlers,
    observer: Observer,
    contexts: CachedContexts | None,
    ring: Callable[[], None] | None,
    tracer: Tracer | None = None,
) -> Instance:
    """An instance under this name; it drives nothing before it is run."""
    settings, clock = ground.settings.engine, ground.clock
    lease = timedelta(seconds=settings.lease)
    executions = ExecutionRepository(
        ground.database, ground.committer, lease, contexts is not None, ground.starts, ground.written
    )
    workflows = StartableWorkflows(definitions.storage.workflows, programs)
    sub_workflow = SubWorkflow(workflows, ChildItems(ground.database))
    handlers = replace(handlers, openers={**handlers.openers, "SUB_WORKFLOW": sub_workflow})
    events = ground.settings.ingestion.raw_topic
    attempts = Attempts(handlers, executions, clock, random.random, lease, definitions.data.secrets, tracer)
    instance = Instance(
        name,
        executions,
        Driver(executions, attempts, clock, random.random, observer, contexts, events),
        programs.of,
        clock,
        lease,
        ground.is_alone,
        observer,
        settings.takeovers,
        ring=ring,
        at_hand=contexts,
        stuck_after=timedelta(seconds=settings.stuck_after) if settings.stuck_after else None,
        look_every=SELDOM,
        kept_program=programs.kept,
    )
    ground.lookout.watch(Sight.DUE, instance.hear_due)
    ground.lookout.watch(Sight.LEASES, instance.hear_lease_end)
    return instance


def programs_of(definitions: Definitions) -> Programs:
    document = partial(_document, definitions.storage.workflows)
    return Programs(document, definitions.catalogue.node_types)


@asynccontextmanager
async def driving(instance: Instance, contexts: CachedContexts | None, grace: float) -> AsyncIterator[None]:
    """Drive executions until the end of the block; nodes that run then may finish for a while."""
    running = [asyncio.create_task(instance.run())]
    if contexts:
        running.append(asyncio.create_task(contexts.run(instance.doubt_leases)))
    try:
        yield
    finally:
        await instance.leave(grace)
        if contexts:
            await contexts.close()
        await ended(*running)


async def _document(workflows: WorkflowRepository, version_id: int) -> JsonObject:
    """That the store is away says nothing about the version."""
    try:
        return await workflows.document(version_id)
    except Unavailable as away:
        raise NotWritten(str(away)) from away
