"""Writing that does not give up: the store may be away, but what happened has happened."""

import asyncio
import logging

from muster.engine.ports import Executions, NotWritten, Progress

FIRST_BACKOFF, LONGEST_BACKOFF = 0.05, 5.0

log = logging.getLogger(__name__)


async def write_until_written(executions: Executions, progress: Progress) -> None:
    """Write until it is written: an effect that happened must not become a failed step because the store
    was away. Raises `Lost`."""
    backoff = FIRST_BACKOFF
    while True:
        try:
            return await executions.write(progress)
        except NotWritten as away:
            log.warning("execution %s: not written yet: %s", progress.execution_id, away)
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, LONGEST_BACKOFF)
