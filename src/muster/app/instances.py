"""This instance among the others: its heartbeat."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from muster.app.settings import Settings
from muster.engine.instances import Counts, Heartbeat, Identity, Instances
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store.database import CommitUnknown, Unavailable

TROUBLE = (Unavailable, CommitUnknown)
LEAVING_SECONDS = 2.0


def identity_of(settings: Settings, incarnation: str) -> Identity:
    host, pid = socket.gethostname(), os.getpid()
    return Identity(settings.instance_id, incarnation, host, pid, settings.roles, version("muster"))


@asynccontextmanager
async def among_others(
    instances: Instances, who: Identity, driving: Callable[[], int], tell: Callable[[Counts], None]
) -> AsyncIterator[Callable[[], None]]:
    """Be heard of until the end of the block. Yields how to say that the end is near."""
    heartbeat = Heartbeat(instances, who, driving, tell)
    loop = Loop("heartbeat", heartbeat.beat, TROUBLE)

    def retire() -> None:
        heartbeat.retire()
        loop.wake()

    running = asyncio.create_task(loop.run())
    try:
        yield retire
    finally:
        # Who cannot say so is gone after a while.
        with suppress(TimeoutError, *TROUBLE):
            async with asyncio.timeout(LEAVING_SECONDS):
                await loop.stop()
                await instances.leave(who)
        await ended(running)
