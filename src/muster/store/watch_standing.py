"""How much is expected, and how many alerts nobody has dealt with: for whoever measures."""

from collections.abc import Mapping

from sqlalchemy import Connection, func, select

from muster.model.watching import AlertState
from muster.store.database import Database
from muster.store.tables import alert, expectation
from muster.store.watch_due import PENDING

A = alert.c
# Resolved ones may be millions, and only ever become more.
COUNTED = (AlertState.OPEN, AlertState.ACK, AlertState.SUPPRESSED)
_PENDING = select(func.count()).select_from(expectation).where(PENDING)
_ALERTS = select(A.state, func.count()).where(A.state.in_([each.value for each in COUNTED])).group_by(A.state)


class WatchStanding:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self) -> tuple[int, Mapping[str, int]]:
        """How many expectations are pending, and how many alerts there are in each state but the last."""

        def work(connection: Connection) -> tuple[int, Mapping[str, int]]:
            found = {row[0]: row[1] for row in connection.execute(_ALERTS)}
            alerts = {state.value: found.get(state.value, 0) for state in COUNTED}
            return connection.scalar(_PENDING) or 0, alerts

        return await self._database.read(work)
