"""The clock that instances have in common."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muster.kit.backoff import until_it_works
from muster.kit.clock import Clock
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store.clock import DatabaseClock
from muster.store.database import Database, Unavailable

log = logging.getLogger(__name__)


@asynccontextmanager
async def common_clock(database: Database, machine: Clock) -> AsyncIterator[Clock]:
    """The database's clock, looked at until the end of the block. SQLite's is this machine's."""
    if database.dialect_name == "sqlite":
        yield machine
        return
    clock = DatabaseClock(database, machine)
    await until_it_works(clock.look, Unavailable, _tell_away)
    looking = asyncio.create_task(Loop("the database's clock", clock.look, (Unavailable,)).run())
    try:
        yield clock
    finally:
        await ended(looking)


def _tell_away(away: Exception) -> None:
    log.warning("the database does not say what time it is: %s", away)
