"""External tasks, put together: how workers hear of them, and what finds those that others have offered."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.observer import Nobody
from muster.engine.owned import Checkpoint
from muster.engine.ports import NotWritten
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.model.execution import NodeStatus
from muster.nodes.working import Working
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.external_task_records import ExternalTaskLists, ExternalTaskRepository


class Offers(Nobody):
    """Hears of tasks that executions here have offered, and tells those who wait for them."""

    def __init__(self) -> None:
        self.tell: Callable[[str], None] | None = None

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        if self.tell is None:
            return
        for row in rows:
            if row.status is NodeStatus.WAITING_FOR_TASK and isinstance(row.output, dict):
                self.tell(str(row.output.get("topic")))


@asynccontextmanager
async def offering_tasks(
    database: Database, offers: Offers, look_now: Callable[[], None]
) -> AsyncIterator[Working]:
    """Let workers fetch until the end of the block. What they say is committed beside what executions do."""
    committer = GroupCommitter(database)
    working = Working(ExternalTaskRepository(database, committer), ExternalTaskLists(database), look_now)
    offers.tell = working.offered
    looking = asyncio.create_task(Loop("external tasks", working.look, (NotWritten,)).run())
    try:
        yield working
    finally:
        working.close()
        await ended(looking)
        await committer.close()
