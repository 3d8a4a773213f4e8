"""The self-check: live executions that nobody would ever look at again. There are none."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, not_, select

from muster.engine.state import FINAL, ExecutionStatus
from muster.store.database import Database
from muster.store.dialect import json_is_true
from muster.store.tables import workflow_execution

E = workflow_execution.c
MOST = 1000
# One that waits is woken by what it waits for, and one that was paused by hand by a person.
UNATTENDED = (
    select(E.id)
    .where(
        E.completed_at.is_(None),  # along the index of what is live
        E.status.not_in(sorted(FINAL)),
        E.lease_until.is_(None),
        E.resume_at.is_(None),
        E.status != ExecutionStatus.WAITING,
        not_(and_(E.status == ExecutionStatus.PAUSED, json_is_true(E.state, "held"))),
    )
    .order_by(E.id)
    .limit(MOST)
)


class SelfCheck:
    """`engine.self_check.Unattended` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def unattended(self) -> Sequence[str]:
        def work(connection: Connection) -> Sequence[str]:
            return connection.scalars(UNATTENDED).all()

        return await self._database.read(work)
