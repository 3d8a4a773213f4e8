"""Writing that does not give up: the store may be away, but what happened has happened."""

import logging

from muster.engine.owned import Progress
from muster.engine.ports import Executions, NotWritten
from muster.kit.backoff import until_it_works

log = logging.getLogger(__name__)


async def write_until_written(executions: Executions, progress: Progress) -> None:
    """Write until it is written: an effect that happened must not become a failed step because the store
    was away. Raises `Lost`."""
    try:
        await executions.write(progress)
    except NotWritten as away:
        log.debug("execution %s: not written yet: %s", progress.execution_id, away)
        await _try_again(executions, progress)


async def _try_again(executions: Executions, progress: Progress) -> None:
    def tell(away: Exception) -> None:
        # One of thousands that wait for the same store: that it is away is somebody else's line.
        log.debug("execution %s: not written yet: %s", progress.execution_id, away)

    await until_it_works(lambda: executions.write(progress), NotWritten, tell)
