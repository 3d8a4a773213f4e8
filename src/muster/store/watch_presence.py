"""Whether anybody takes events in: said every few seconds, by whoever does."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, select, update

from muster.engine.instances import GONE_AFTER
from muster.store.database import Database
from muster.store.dialect import insert_new, now
from muster.store.tables import instance, watch_presence
from muster.watch.outage import TOLERANCE, Presence, beaten
from muster.watch.stages import Stage

P, OTHER = watch_presence.c, instance.c
WATCHES = "watch"


class WatchPresence:
    """`watch.attendance.Presences`: whether events get to a stage. `me` is the name of this instance."""

    def __init__(self, database: Database, stage: Stage, me: str, grace: timedelta) -> None:
        self._database, self._stage, self._me, self._grace = database, stage, me, grace
        self._has_come = False
        # What the last word was when this one came.
        self._found: datetime | None = None

    async def beat(self) -> Presence | None:
        """Say that events are taken in here; the answer tells since when. None: it is not said yet."""
        found = await self._database.write(self._beat)
        self._has_come = found is not None
        return found

    def _beat(self, connection: Connection) -> Presence | None:
        at = now(connection)
        row = connection.execute(_row_of(self._stage).with_for_update()).first()
        before = None if row is None else _presence(row)
        returns = False
        if before is not None and not self._has_come:
            returns = not self._others(connection, at)
            if not returns and not self._is_certain(before, at):
                return None
        after = beaten(before, at, self._grace, returns)
        values = {
            "seen_at": after.seen_at,
            "gap_from": after.gap_from,
            "returned_at": after.returned_at,
            "caught_up_at": after.caught_up_at,
        }
        if row is None:
            insert_new(connection, watch_presence, [{"name": self._stage.value, **values}], ("name",))
        else:
            connection.execute(_change(self._stage).values(values))
        return after

    def _others(self, connection: Connection, at: datetime) -> bool:
        """Whether another instance has been heard of that may take events in."""
        heard = select(OTHER.roles).where(OTHER.name != self._me, OTHER.heartbeat_at >= at - GONE_AFTER)
        return any(WATCHES in roles for roles in connection.scalars(heard))

    def _is_certain(self, before: Presence, at: datetime) -> bool:
        """Whether another takes events in, or nobody has for a while. One that was heard of may have gone
        since: it is there if it says so once more."""
        self._found = self._found or before.seen_at
        return before.seen_at > self._found or at - before.seen_at > TOLERANCE

    async def caught_up(self, presence: Presence) -> None:
        """All that had waited at this return has been read."""

        def work(connection: Connection) -> None:
            same = P.returned_at == presence.returned_at
            values = {"caught_up_at": now(connection)}
            connection.execute(_change(self._stage).where(same, P.caught_up_at.is_(None)).values(values))

        await self._database.write(work)


def _row_of(stage: Stage) -> Any:
    return select(watch_presence).where(P.name == stage.value)


def _change(stage: Stage) -> Any:
    return update(watch_presence).where(P.name == stage.value)


def read_presence(connection: Connection, stage: Stage) -> Presence | None:
    row = connection.execute(_row_of(stage)).first()
    return None if row is None else _presence(row)


def _presence(row: Row[Any]) -> Presence:
    return Presence(row.seen_at, row.gap_from, row.returned_at, row.caught_up_at)
