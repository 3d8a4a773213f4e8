"""Instances that wake each other, where the database can carry that."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from muster.app.settings import Settings
from muster.engine.instance import Instance
from muster.engine.outbox import Written
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store.address import POSTGRESQL, parse_address
from muster.store.database import Unavailable
from muster.store.open import server_engine
from muster.store.wake_ups import Listener, WakeUps

LISTENING = "muster wake-ups"


def wake_ups_of(settings: Settings) -> WakeUps | None:
    """None: nobody can be told anything, or is to be."""
    url, password = settings.database.url, settings.database.password
    if url is None or not settings.engine.wake_ups or settings.database.pooled:
        return None
    secret = password.get_secret_value() if password else None
    address = parse_address(url.get_secret_value(), settings.database.user, secret)
    if address.drivername != POSTGRESQL:
        return None
    # A connection of its own, beside those that work is done on.
    return WakeUps(server_engine(address, pool_size=1, name=LISTENING))


@asynccontextmanager
async def waking(wake_ups: WakeUps | None, instance: Instance, written: Written) -> AsyncIterator[None]:
    """Let this instance hear others until the end of the block, and tell them what it still has to."""
    if wake_ups is None:
        yield
        return
    listener = Listener(instance.name.owner, instance.hear_due, instance.hear_reached, written.heard)
    written.elsewhere = wake_ups.ring_written
    running = asyncio.create_task(Loop("wake-ups", partial(wake_ups.listen, listener), (Unavailable,)).run())
    try:
        yield
        await wake_ups.flush()
    finally:
        await ended(running)
        await wake_ups.close()
