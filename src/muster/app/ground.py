"""What every part of a process stands on: one of each, opened first and closed last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Info, PlatformCollector, ProcessCollector

from muster.app.bus import opened_bus
from muster.app.bus_metrics import BusMetrics
from muster.app.clocks import common_clock
from muster.app.commit_metrics import CommitMetrics
from muster.app.settings import Settings
from muster.app.storage import ANY_TIME, CannotOpen, claimed, migrated, opened_database, sqlite_file
from muster.app.watched_database import WatchedDatabase
from muster.engine.bus import BadClient, Bus
from muster.engine.lookout import Lookout
from muster.engine.outbox import Written
from muster.kit.clock import Clock
from muster.kit.ids import Ids, TimeOrderedIds
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store.committer import GroupCommitter
from muster.store.database import Database, Unavailable
from muster.store.lookout import DatabaseSights


@dataclass(frozen=True, slots=True)
class Ground:
    """`starts` commit what begins executions, `receipts` the events that waits receive, `committer`
    everything else; they may be one. Whoever writes messages into the outbox tells `written`."""

    settings: Settings
    database: WatchedDatabase
    clock: Clock
    ids: Ids
    committer: GroupCommitter
    starts: tuple[GroupCommitter, ...]
    receipts: GroupCommitter
    bus: Bus
    registry: CollectorRegistry
    messages: BusMetrics
    lookout: Lookout
    written: Written = field(default_factory=Written)

    @property
    def has_engine(self) -> bool:
        """Whether this process has the role to drive executions."""
        return "engine" in self.settings.roles

    @property
    def is_alone(self) -> bool:
        """SQLite's folder has one owner, so whatever another name held there is held by nobody."""
        return self.database.dialect_name == "sqlite"


@asynccontextmanager
async def opened_ground(settings: Settings, machine: Clock, ids: Ids | None) -> AsyncIterator[Ground]:
    """Open and migrate the database, and what everybody writes and sends by. Raises `CannotOpen`."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(_up_to_date(settings))
        clock = await stack.enter_async_context(common_clock(database, machine))
        ids = ids or TimeOrderedIds(clock)
        registry = _registry(settings)
        observe = CommitMetrics(registry).observe
        committer = receipts = GroupCommitter(database, observe=observe)
        stack.push_async_callback(committer.close)
        starts: tuple[GroupCommitter, ...] = ()
        if database.dialect_name == "postgresql":
            # Who begins, or is to go on, waits for nothing that others write: their transactions are under
            # way at once.
            receipts, *others = (GroupCommitter(database, observe=observe) for _ in range(3))
            starts = tuple(others)
            for each in (receipts, *starts):
                stack.push_async_callback(each.close)
        bus = await stack.enter_async_context(_bus(settings, database, committer, ids))
        messages = BusMetrics(registry)
        lookout = Lookout(DatabaseSights(database))
        ground = Ground(
            settings, database, clock, ids, committer, starts, receipts, bus, registry, messages, lookout
        )
        if set(settings.roles) - {"web"}:
            await stack.enter_async_context(_looking(lookout))
        yield ground


@asynccontextmanager
async def _looking(lookout: Lookout) -> AsyncIterator[None]:
    running = asyncio.create_task(Loop("lookout", lookout.look, (Unavailable,)).run())
    try:
        yield
    finally:
        await ended(running)


@asynccontextmanager
async def _up_to_date(settings: Settings) -> AsyncIterator[WatchedDatabase]:
    async with AsyncExitStack() as stack:
        file = sqlite_file(settings)
        if file is not None:
            stack.enter_context(claimed(file.parent))
        async with opened_database(settings, ANY_TIME) as migrating:
            await migrated(migrating)
        yield WatchedDatabase(await stack.enter_async_context(opened_database(settings)))


@asynccontextmanager
async def _bus(
    settings: Settings, database: Database, committer: GroupCommitter, ids: Ids
) -> AsyncIterator[Bus]:
    try:
        async with opened_bus(settings, database, committer, ids) as bus:
            yield bus
    except BadClient as error:
        raise CannotOpen(f"Kafka's client cannot be made as `kafka.client` says: {error}.") from None


def _registry(settings: Settings) -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    Info("muster", "This instance.", registry=registry).info(
        {"version": version("muster"), "instance": settings.instance_id}
    )
    return registry
