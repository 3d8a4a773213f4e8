"""Executions as followers look at them: again and again, so briefly and without what is large."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, Select, bindparam, null, select

from muster.engine.event_waits import WaitStatus
from muster.engine.following import MOST_WAITS, Seen
from muster.engine.journal import COMPENSATION
from muster.engine.owned import OwnedExecution
from muster.engine.state import FINAL
from muster.model.event_wait import WaitRecord
from muster.model.execution import ExecutionRow
from muster.store.claims import owned_of
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.event_wait_lists import SHOWN, wait_record
from muster.store.event_waits import W
from muster.store.execution_records import LISTED, joined, listed_of, node_of, of_tenant
from muster.store.journal import journal_of
from muster.store.tables import node_execution, workflow_execution
from muster.store.types import UtcTime

E = workflow_execution.c
J = node_execution.c
ID: BindParameter[str] = bindparam("id")
# A visit is told without its output, which the journal has.
BRIEF = tuple(column for column in J if column.name not in ("input", "output", "changes", "aside"))
EXECUTION = joined(*LISTED, E.fence, E.owner, E.output).where(E.id == ID)
VISIT = J.item_key.in_(["", COMPENSATION])
VISITS: Select[Any] = (
    select(*BRIEF, null().label("output"), null().label("changes"), null().label("aside"))
    .where(J.execution_id == ID, VISIT, J.seq > bindparam("after"))
    .order_by(J.seq)
    .limit(bindparam("most"))
)
STANDING = select(workflow_execution).where(E.id == ID)
CHANGED = (
    joined(*LISTED, E.updated_at)
    .where(E.updated_at >= bindparam("since", type_=UtcTime()))
    .order_by(E.updated_at.desc())
    .limit(bindparam("most"))
)
JOURNAL = select(node_execution).where(J.execution_id == ID, VISIT).limit(bindparam("most"))


# Those that are over are told by their nodes.
WAITS = (
    select(*SHOWN)
    .where(W.execution_id == ID, W.status.in_([WaitStatus.WAITING.value, WaitStatus.RESUMING.value]))
    .order_by(W.created_at, W.id)
    .limit(MOST_WAITS)
)


class ExecutionSightings:
    """`engine.following.Sightings` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def seen(self, institute_id: str | None, execution_id: str, after: int, limit: int) -> Seen | None:
        def work(connection: Connection) -> Seen | None:
            row = connection.execute(of_tenant(EXECUTION, institute_id), {"id": execution_id}).first()
            if row is None:
                return None
            visits = connection.execute(VISITS, {"id": execution_id, "after": after, "most": limit})
            return Seen(
                listed_of(row),
                row.fence,
                row.owner is not None,
                row.output,
                [node_of(visit) for visit in visits],
                _waits(connection, row),
            )

        return await self._database.read(work)

    async def standing(self, execution_id: str, limit: int) -> OwnedExecution | None:
        def work(connection: Connection) -> OwnedExecution | None:
            row = connection.execute(STANDING, {"id": execution_id}).first()
            visits = connection.execute(JOURNAL, {"id": execution_id, "most": limit + 1}).all()
            if row is None or len(visits) > limit:
                return None
            return owned_of(row, [journal_of(visit) for visit in visits], ())

        return await self._database.read(work)

    async def changed(
        self, institute_id: str | None, since: datetime | None, before: timedelta, limit: int
    ) -> tuple[Sequence[tuple[ExecutionRow, datetime]], datetime]:
        """Executions that changed `before` that moment or later, with when they did, the newest first; and
        the time it is. None: now."""

        def work(connection: Connection) -> tuple[list[tuple[ExecutionRow, datetime]], datetime]:
            at = now(connection)
            wanted = {"since": (since or at) - before, "most": limit}
            rows = connection.execute(of_tenant(CHANGED, institute_id), wanted)
            return [(listed_of(row), row.updated_at) for row in rows], at

        return await self._database.read(work)


def _waits(connection: Connection, row: Row[Any]) -> Sequence[WaitRecord]:
    """What an execution waits for that has not ended."""
    if row.status in FINAL:
        return ()
    return [wait_record(wait) for wait in connection.execute(WAITS, {"id": row.id})]
