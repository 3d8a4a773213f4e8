"""Near misses that a person gives to a wait all the same."""

from sqlalchemy import Connection, update

from muster.engine.event_waits import Accepted, Arrived, NearMiss, Refusal, Refused, Verdict
from muster.model.stored import AuditEntry
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.event_receiving import Receiving
from muster.store.tables import near_miss

N = near_miss.c


class _NotTaken(Exception):
    """Nothing of it is to be written."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(str(verdict))
        self.verdict = verdict


class Applying:
    """`nodes.event_waiting.Applies` on a database."""

    def __init__(self, database: Database, instance: str) -> None:
        self._database, self._receiving = database, Receiving(instance)

    async def apply(self, near_miss: int, wait_id: str, event: Arrived, audit: AuditEntry) -> Verdict:
        def work(connection: Connection) -> Verdict:
            [verdict] = self._receiving.write(connection, [event])
            if not isinstance(verdict, Accepted):
                raise _NotTaken(verdict)
            _mark(connection, near_miss, wait_id, audit.actor)
            add_audit(connection, audit, now(connection))
            return verdict

        try:
            return await self._database.write(work)
        except _NotTaken as refused:
            return refused.verdict


def _mark(connection: Connection, number: int, wait_id: str, actor: str) -> None:
    """Note to what it was applied, and by whom: of two who do so at once, to two waits, one does."""
    free = update(near_miss).where(N.id == number, N.applied_to.is_(None))
    if connection.execute(free.values(applied_to=wait_id, applied_by=actor)).rowcount == 0:
        raise _NotTaken(Refused(Refusal.DUPLICATE, NearMiss.DUPLICATE))
