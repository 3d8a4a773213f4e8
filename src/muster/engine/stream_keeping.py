"""Keeping a stream of the outbox while the bus takes its time.

A lease says how soon another instance goes on in place of one that is gone. It is no measure of how long the
bus may take: if another took over because of that, it would take as long itself, and so on for ever.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from muster.engine.bus import BusAway
from muster.engine.ports import NotWritten
from muster.engine.publishing import LOOK_EVERY, Held, OutboxStreams
from muster.kit.tasks import ended

T = TypeVar("T")

# A lease is prolonged once this part of it is over.
KEPT_AFTER = 3
# Others have looked by then.
LEFT_TO_OTHERS = 2 * LOOK_EVERY

log = logging.getLogger(__name__)


async def keeping(streams: OutboxStreams, held: Held, doing: Coroutine[Any, Any, T]) -> T:
    """What comes of it; the stream stays ours meanwhile. Raises `Overtaken` as soon as it is known to be
    another's, and waits for nothing then: whatever is still under way, the bus has a fence of its own."""
    lease, clock = held.lease.total_seconds(), asyncio.get_running_loop().time
    begun, task = clock(), asyncio.create_task(doing)
    try:
        while not (await asyncio.wait((task,), timeout=lease / KEPT_AFTER))[0]:
            await _keep(streams, held)
        return task.result()
    except BusAway:
        if clock() - begun > lease:
            await _leave_to_others(streams, held)
        raise
    finally:
        await ended(task)  # where it has failed while the stream was lost, too: else nobody hears it


async def _keep(streams: OutboxStreams, held: Held) -> None:
    try:
        await streams.keep(held)
    except NotWritten as away:
        # Nobody else can have it either, if it is away for them; else the fence says so the next time.
        log.info("the stream %s could not be kept: %s", held.stream, away)


async def _leave_to_others(streams: OutboxStreams, held: Held) -> None:
    """It may be we alone whom the bus does not answer: had the stream not been kept, another would have it by
    now."""
    with suppress(NotWritten):  # then the lease ends by itself
        await streams.release(held)
    await asyncio.sleep(LEFT_TO_OTHERS)
