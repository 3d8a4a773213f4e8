"""Positions of consumers that are recorded with what their messages did, in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, Select, select, tuple_

from muster.engine.bus import AlreadyHandled, Place, Position
from muster.engine.ports import NotWritten
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.dialect import insert_new, now, update_rows
from muster.store.tables import consumer_position

C = consumer_position.c
KEY = ("group_id", "topic", "partition")


def record_positions(connection: Connection, positions: Sequence[Position]) -> None:
    """Move on from where each was recorded to be, all or none. Raises `AlreadyHandled` if one has moved
    meanwhile: the transaction is to be undone.

    It locks rows, in their order, before anything that the messages do locks others.
    """
    at, ordered = now(connection), sorted(positions, key=lambda each: each.place)
    first = [each for each in ordered if each.recorded is None]
    begun = insert_new(connection, consumer_position, [_row(each, at) for each in first], KEY)
    moving = [each for each in ordered if each.recorded is not None]
    if len(begun) < len(first) or not _are_there(connection, moving):
        raise AlreadyHandled("another member has dealt with these messages")
    update_rows(connection, consumer_position, [_row(each, at) for each in moving], KEY)


def _are_there(connection: Connection, positions: Sequence[Position]) -> bool:
    """Whether all of them are where they are said to be; they stay there until the transaction is over."""
    if not positions:
        return True
    chosen = _chosen(positions[0].group, [each.place for each in positions])
    rows = connection.execute(chosen.order_by(C.topic, C.partition).with_for_update())
    found = {Place(row.topic, row.partition): row.position for row in rows}
    return all(found.get(each.place) == each.recorded for each in positions)


def _chosen(group: str, places: Collection[Place]) -> Select[tuple[str, int, int]]:
    wanted = tuple_(C.topic, C.partition).in_([tuple(place) for place in places])
    return select(C.topic, C.partition, C.position).where(C.group_id == group, wanted)


def _row(position: Position, at: datetime) -> dict[str, object]:
    topic, partition = position.place
    return {
        "group_id": position.group,
        "topic": topic,
        "partition": partition,
        "position": position.next,
        "updated_at": at,
    }


class ConsumerPositions:
    """`engine.bus.Positions` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def known(self, group: str, places: Collection[Place]) -> Mapping[Place, int]:
        chosen = _chosen(group, places)
        try:
            rows = await self._database.read(lambda connection: connection.execute(chosen).all(), single=True)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
        return {Place(row.topic, row.partition): row.position for row in rows}

    async def record(self, positions: Sequence[Position]) -> None:
        try:
            await self._database.write(lambda connection: record_positions(connection, positions))
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
