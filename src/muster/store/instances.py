"""The instances on this database: who they are, and when they were last heard of by its clock."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, select, update

from muster.engine.instances import FORGOTTEN_AFTER, Counts, Identity, InstanceStatus, Standing, status_of
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.dialect import insert_new, now
from muster.store.paging import read_page
from muster.store.tables import instance

C = instance.c
KEY = ("name", "incarnation")


class InstanceRepository:
    """`engine.instances.Instances` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def join(self, who: Identity) -> None:
        earlier = delete(instance).where(C.name == who.name, C.incarnation != who.incarnation)

        def work(connection: Connection) -> None:
            connection.execute(earlier)
            _insert(connection, who, 0, leaving=False)

        await self._database.write(work)

    async def beat(self, who: Identity, driving: int, leaving: bool) -> Counts:
        return await self._database.write(lambda connection: _beat(connection, who, driving, leaving))

    async def leave(self, who: Identity) -> None:
        await self._database.write(lambda connection: connection.execute(delete(instance).where(_is(who))))

    async def list(self, page: Page) -> tuple[Sequence[Standing], str | None]:
        def work(connection: Connection) -> tuple[Sequence[Standing], str | None]:
            at = now(connection)
            return read_page(
                connection,
                "instances",
                select(instance),
                [C.name, C.incarnation],
                page,
                lambda row: _standing(row, at),
            )

        return await self._database.read(work)


def _is(who: Identity) -> Any:
    return and_(C.name == who.name, C.incarnation == who.incarnation)


def _insert(connection: Connection, who: Identity, driving: int, leaving: bool) -> None:
    at = now(connection)
    row = {
        "name": who.name,
        "incarnation": who.incarnation,
        "host": who.host,
        "pid": who.pid,
        "roles": list(who.roles),
        "version": who.version,
        "driving": driving,
        "leaving": leaving,
        "started_at": at,
        "heartbeat_at": at,
    }
    insert_new(connection, instance, [row], KEY)


def _beat(connection: Connection, who: Identity, driving: int, leaving: bool) -> Counts:
    at = now(connection)
    values = {"heartbeat_at": at, "driving": driving, "leaving": leaving}
    if connection.execute(update(instance).where(_is(who)).values(values)).rowcount == 0:
        # Another has this name too, or this one was away for very long: it is alive all the same.
        _insert(connection, who, driving, leaving)
    rows = connection.execute(select(C.heartbeat_at, C.leaving)).all()
    if any(at - row.heartbeat_at > FORGOTTEN_AFTER for row in rows):
        connection.execute(delete(instance).where(C.heartbeat_at < at - FORGOTTEN_AFTER))
    counted = Counter(status_of(row.heartbeat_at, row.leaving, at) for row in rows)
    return {status: counted[status] for status in InstanceStatus}


def _standing(row: Row[Any], at: datetime) -> Standing:
    return Standing(
        Identity(row.name, row.incarnation, row.host, row.pid, tuple(row.roles), row.version),
        status_of(row.heartbeat_at, row.leaving, at),
        row.driving,
        row.started_at,
        row.heartbeat_at,
    )
