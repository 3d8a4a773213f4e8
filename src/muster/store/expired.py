"""Rows that have had their time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, Connection, delete, select

from muster.store.database import Database
from muster.store.dialect import now


def _nothing(connection: Connection, before: datetime) -> None:
    return


class ExpiredRows:
    """`engine.housekeeping.Expiring`: rows whose moment `when` was at least so long ago; those without one
    stay. They are known by `key`. `going` is called before some go, with the moment up to which they do."""

    def __init__(
        self,
        database: Database,
        key: Column[Any],
        when: Column[datetime],
        kept_for: timedelta = timedelta(),
        going: Callable[[Connection, datetime], None] = _nothing,
    ) -> None:
        self._database, self._key, self._when = database, key, when
        self._kept_for, self._going = kept_for, going

    async def forget_expired(self, most: int) -> int:
        return await self._database.write(lambda connection: self._forget(connection, most))

    def _forget(self, connection: Connection, most: int) -> int:
        before = now(connection) - self._kept_for
        expired = self._when <= before
        chosen = select(self._key).where(expired).order_by(self._when).limit(most)
        keys = sorted(connection.scalars(chosen))
        if keys:
            self._going(connection, before)
            # Asked again: one that was taken over in between is not to go.
            connection.execute(delete(self._key.table).where(self._key.in_(keys), expired))
        return len(keys)
