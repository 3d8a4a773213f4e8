"""Writing that does not give up: the store may be away, but what happened has happened."""

import logging
from functools import partial

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
        _tell(progress, away)
        await _try_again(executions, progress)


async def _try_again(executions: Executions, progress: Progress) -> None:
    await until_it_works(lambda: executions.write(progress), NotWritten, partial(_tell, progress))


def _tell(progress: Progress, away: Exception) -> None:
    # One of thousands that wait for the same store: that it is away is somebody else's line.
    ids = {"execution_id": progress.execution_id}
    log.debug("execution %s: not written yet: %s", progress.execution_id, away, extra=ids)
