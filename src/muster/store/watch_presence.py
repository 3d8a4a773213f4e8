"""Whether anybody takes events in: said every few seconds, by whoever does."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, select, update

from muster.store.database import Database
from muster.store.dialect import insert_new, now
from muster.store.tables import watch_presence
from muster.watch.outage import Presence, beaten

P = watch_presence.c
INGEST = "ingest"
_THERE = select(watch_presence).where(P.name == INGEST)
_CHANGED = update(watch_presence).where(P.name == INGEST)


class IngestPresence:
    def __init__(self, database: Database, grace: timedelta) -> None:
        self._database, self._grace = database, grace

    async def beat(self) -> Presence:
        """Say that events are taken in here; the answer tells since when."""
        return await self._database.write(self._beat)

    def _beat(self, connection: Connection) -> Presence:
        at = now(connection)
        row = connection.execute(_THERE.with_for_update()).first()
        after = beaten(None if row is None else _presence(row), at, self._grace)
        values = {
            "seen_at": after.seen_at,
            "gap_from": after.gap_from,
            "returned_at": after.returned_at,
            "caught_up_at": after.caught_up_at,
        }
        if row is None:
            insert_new(connection, watch_presence, [{"name": INGEST, **values}], ("name",))
        else:
            connection.execute(_CHANGED.values(values))
        return after

    async def caught_up(self, presence: Presence) -> None:
        """All that had waited at this return has been read."""

        def work(connection: Connection) -> None:
            same = P.returned_at == presence.returned_at
            values = {"caught_up_at": now(connection)}
            connection.execute(_CHANGED.where(same, P.caught_up_at.is_(None)).values(values))

        await self._database.write(work)


def read_presence(connection: Connection) -> Presence | None:
    row = connection.execute(_THERE).first()
    return None if row is None else _presence(row)


def _presence(row: Row[Any]) -> Presence:
    return Presence(row.seen_at, row.gap_from, row.returned_at, row.caught_up_at)
