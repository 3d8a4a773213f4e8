"""Runs of which nothing is expected, and of which nobody has heard for long, are over."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, and_, update

from muster.store.database import Database
from muster.store.dialect import now
from muster.store.tables import workflow_run
from muster.store.watch_retention import IS_EXPECTED, held_runs

R = workflow_run.c


@dataclass(frozen=True, slots=True)
class IdleRuns:
    database: Database
    idle_for: timedelta

    async def finish(self, most: int) -> int:
        """Finish so many at most; how many those were."""
        return await self.database.write(lambda connection: self._finish(connection, most))

    def _finish(self, connection: Connection, most: int) -> int:
        at = now(connection)
        idle = and_(R.finished_at.is_(None), R.updated_at < at - self.idle_for, ~IS_EXPECTED)
        ids = held_runs(connection, idle, most)
        if ids:
            over = {"finished_at": at, "updated_at": at, "seq": R.seq + 1}
            connection.execute(update(workflow_run).where(R.id.in_(ids)).values(over))
        return len(ids)
