"""Workflows and what they name, put together: the library, triggers, data sources, secrets."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from secrets import token_bytes

from muster.app.catalogue import catalogue_with
from muster.app.data import DataParts, data_parts
from muster.app.ground import Ground
from muster.app.network import database_hosts
from muster.app.storage import Storage, sqlite_file, storage_in, vault_of
from muster.definitions.library import Library, OthersSay
from muster.definitions.limits import Limits
from muster.definitions.trigger_library import TriggerLibrary
from muster.engine.trigger_cache import KeptStartables
from muster.model.node_type import Catalogue
from muster.plugin.registry import Plugged
from muster.store.startables import StartableRepository
from muster.store.triggers import TriggerRepository


@dataclass(frozen=True, slots=True)
class Definitions:
    """`startables` are the triggers that start something, as they were read last; `stored_startables` as they
    are."""

    storage: Storage
    catalogue: Catalogue
    data: DataParts
    limits: Limits
    library: Library
    stored_startables: StartableRepository
    startables: KeptStartables
    triggers: TriggerLibrary


@asynccontextmanager
async def opened_definitions(
    ground: Ground, plugged: Plugged, others_say: OthersSay
) -> AsyncIterator[Definitions]:
    """Raises `CannotOpen`."""
    settings, database, clock = ground.settings, ground.database, ground.clock
    storage = storage_in(database, clock)
    vault = vault_of(settings)
    catalogue = catalogue_with(plugged, can_sign=vault is not None)
    limits = Limits(bytes=settings.api.body_limit)
    kept = StartableRepository(database, vault)
    startables = KeptStartables(kept, time.monotonic)
    own, hosts = sqlite_file(settings), database_hosts(settings)
    async with data_parts(database, clock, vault, settings.data_dir, own, hosts, plugged) as data:
        library = Library(
            storage.workflows,
            storage.templates,
            catalogue,
            ground.ids,
            limits,
            registered=data.registered,
            changed=startables.forget,
            others_say=others_say,
        )
        editable = TriggerRepository(database, clock, vault)
        triggers = TriggerLibrary(editable, library, ground.ids, token_bytes, startables.forget)
        yield Definitions(storage, catalogue, data, limits, library, kept, startables, triggers)
