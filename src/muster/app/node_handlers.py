"""What the nodes of every type do, put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muster.app.commands import Commands
from muster.app.definitions import Definitions
from muster.app.event_waits import wait_for_events
from muster.app.ground import Ground
from muster.app.network import network_effects, web_client
from muster.engine.handlers import Handlers, for_every_type
from muster.nodes import pure_handlers, wait_handlers
from muster.nodes.publishing import Publish
from muster.plugin.registry import Plugged
from muster.store.deliveries import DeliveryRepository
from muster.store.event_wait_records import EventWaitRepository


@asynccontextmanager
async def opened_handlers(
    ground: Ground,
    definitions: Definitions,
    plugged: Plugged,
    deliveries: DeliveryRepository,
    event_waits: EventWaitRepository,
    commands: Commands,
) -> AsyncIterator[Handlers]:
    """The handlers of all node types, while their connections are open."""
    settings, templates = ground.settings, definitions.storage.templates
    async with (
        web_client(settings) as web,
        network_effects(settings, web, deliveries, templates) as effects,
    ):
        wait = wait_for_events(settings, web, event_waits)
        yield for_every_type(
            Handlers(
                {
                    **effects,
                    **definitions.data.effects,
                    "KAFKA_PUBLISH": Publish(commands.schemas),
                    "KAFKA_COMMAND": commands.compensating,
                    **plugged.effects,
                },
                {**pure_handlers(), **plugged.pures},
                {**wait_handlers(), **plugged.waits},
                {"WAIT_EVENTS": wait, "KAFKA_COMMAND": commands.node},
                {"WAIT_EVENTS": wait, "KAFKA_COMMAND": commands.node},
            ),
            definitions.catalogue.node_types,
        )
