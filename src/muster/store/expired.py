"""Rows that have had their time."""

from sqlalchemy import Connection, Table, delete, select

from muster.store.database import Database
from muster.store.dialect import now


class ExpiredRows:
    """`engine.housekeeping.Expiring`: of a table whose rows have a `hash`, and may have an `expires_at`."""

    def __init__(self, database: Database, table: Table) -> None:
        self._database, self._table = database, table

    async def forget_expired(self, most: int) -> int:
        return await self._database.write(lambda connection: self._forget(connection, most))

    def _forget(self, connection: Connection, most: int) -> int:
        columns, at = self._table.c, now(connection)
        expired = columns.expires_at <= at
        chosen = select(columns.hash).where(expired).order_by(columns.expires_at).limit(most)
        hashes = sorted(connection.scalars(chosen))
        if hashes:
            # Asked again: one that was taken over in between is not to go.
            connection.execute(delete(self._table).where(columns.hash.in_(hashes), expired))
        return len(hashes)
