"""Keeping a stream while the bus takes its time, and what is heard of it."""

import asyncio
import gc
from datetime import timedelta
from typing import cast

import pytest

from muster.engine.bus import BusAway
from muster.engine.outbox import Stream
from muster.engine.publishing import Held, OutboxStreams, Overtaken
from muster.engine.stream_keeping import keeping

HELD = Held(Stream.EXECUTIONS, "executions", 1, timedelta(seconds=0.03))


class TakenAway:
    """A stream that is another's, as is known the moment after the bus has failed."""

    def __init__(self) -> None:
        self.bus_may_fail = asyncio.Event()

    async def keep(self, held: Held) -> None:
        self.bus_may_fail.set()
        for _ in range(3):
            await asyncio.sleep(0)
        raise Overtaken("it is another's")


async def test_a_bus_that_fails_while_the_stream_is_lost_leaves_nothing_unheard() -> None:
    unheard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    streams = TakenAway()

    async def fail() -> None:
        await streams.bus_may_fail.wait()
        raise BusAway("nobody answers")

    with pytest.raises(Overtaken):
        await keeping(cast("OutboxStreams", streams), HELD, fail())
    gc.collect()
    await asyncio.sleep(0)
    assert not unheard
