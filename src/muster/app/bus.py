"""The bus, put together: Kafka if the settings name brokers, else the embedded one; and who reads events."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from muster.app.settings import KafkaSettings, Settings
from muster.engine.bus import Bus, BusAway, Handler, Topics, in_order
from muster.engine.consuming import Consumer, ConsumerObserver
from muster.engine.housekeeping import Housekeeping
from muster.engine.lookout import SELDOM, Lookout
from muster.engine.ports import NotWritten
from muster.kit.clock import Clock
from muster.kit.ids import Ids
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store.bus import EmbeddedBus
from muster.store.bus_log import OldMessages
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.message_letters import RejectedMessages

if TYPE_CHECKING:
    from muster.bus.kafka import KafkaBus

TROUBLE = (NotWritten, Unavailable, CommitUnknown)


@asynccontextmanager
async def opened_bus(
    settings: Settings, database: Database, committer: GroupCommitter, ids: Ids
) -> AsyncIterator[Bus]:
    """A bus, and on the embedded one what removes old messages. Raises `BadClient` for settings of Kafka's
    client that it does not take."""
    async with made_bus(settings, database, committer, ids) as bus:
        if settings.kafka.bootstrap_servers or "engine" not in settings.roles:
            yield bus
            return
        old = OldMessages(database, timedelta(days=settings.bus.retention_days))
        tidying = asyncio.create_task(Loop("old messages", Housekeeping([old]).tidy, TROUBLE).run())
        try:
            yield bus
        finally:
            await ended(tidying)


@asynccontextmanager
async def made_bus(
    settings: Settings, database: Database, committer: GroupCommitter, ids: Ids
) -> AsyncIterator[Bus]:
    """Raises `BadClient`."""
    if settings.kafka.bootstrap_servers:
        kafka = kafka_of(settings.kafka, settings.instance_id)
        try:
            yield kafka
        finally:
            await kafka.close()
        return
    alone = database.dialect_name == "sqlite"
    owner, earlier = f"{settings.instance_id}/{ids.new()}", "" if alone else f"{settings.instance_id}/"
    yield EmbeddedBus(database, committer, owner, earlier, timedelta(seconds=settings.engine.lease))


def kafka_of(settings: KafkaSettings, instance_id: str) -> "KafkaBus":
    """Raises `BadClient`."""
    # Here, since it loads Kafka's library.
    from muster.bus.kafka import KafkaBus

    return KafkaBus(client_of(settings, instance_id))


def client_of(settings: KafkaSettings, instance_id: str) -> Mapping[str, str]:
    """What every client of Kafka's is set to."""
    passed = {name: value.get_secret_value() for name, value in settings.client.items()}
    return {"client.id": instance_id, **passed, "bootstrap.servers": ",".join(settings.bootstrap_servers)}


@asynccontextmanager
async def consuming(
    settings: Settings,
    bus: Bus,
    group: str,
    handlers: Sequence[Handler],
    topics: Sequence[Topics],
    database: Database,
    clock: Clock,
    observer: ConsumerObserver,
    lookout: Lookout,
) -> AsyncIterator[Consumer]:
    """Read messages as a member of a group until the end of the block, if this instance has the role
    `engine`: each goes through the handlers in their order. What is being dealt with at the end may be
    finished for a while."""

    async def wanted() -> Collection[str]:
        found: set[str] = set()
        for source in topics:
            found |= set(await source())
        return found

    consumer = Consumer(
        bus,
        group,
        wanted,
        in_order(*handlers),
        RejectedMessages(database),
        clock,
        observer,
        TROUBLE,
        topics_every=SELDOM,
    )
    lookout.watch_topics(consumer.look_for_topics)
    if "engine" not in settings.roles:
        yield consumer
        return
    running = asyncio.create_task(consumer.run())
    try:
        yield consumer
    finally:
        # Who cannot say that it leaves is missed after a while.
        with suppress(TimeoutError, BusAway, *TROUBLE):
            async with asyncio.timeout(settings.engine.shutdown_grace):
                await consumer.stop()
        await ended(running)
