"""Messages of the embedded bus: rows in the order of their offsets, which are given under a lock.

So a message becomes visible only after all that come before it in its partition, and whoever has read up to
an offset has missed none. `publish_messages` may be part of anybody's transaction: what it publishes is there
if, and only if, the rest of the transaction is.
"""

from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any
from zlib import crc32

from sqlalchemy import Connection, Row, Select, delete, exists, select, tuple_

from muster.engine.bus import Headers, Message, Outgoing, Place, TooLarge
from muster.store.committer import Locks
from muster.store.database import Database
from muster.store.dialect import insert_new, insert_rows, now, update_rows
from muster.store.tables import bus_message, bus_position

M = bus_message.c
P = bus_position.c
KEY = ("group_id", "topic", "partition")
# Where the next message of a partition is to be put is the position of nobody.
NOBODY = ""
# A key's partition depends on it, so it stays.
PARTITIONS = 8
# As large as Kafka takes them by default.
MOST_BYTES = 1_048_576


def partition_of(message: Outgoing) -> int:
    """Messages of one key share a partition; those without one are spread by their values."""
    named = message.value if message.key is None else message.key
    return crc32(named or b"") % PARTITIONS


def size_of(message: Outgoing) -> int:
    headers = sum(len(name.encode()) + len(value) for name, value in message.headers)
    return len(message.key or b"") + len(message.value or b"") + headers


def publish_messages(connection: Connection, messages: Sequence[Outgoing]) -> list[tuple[Place, int]]:
    """Publish in the transaction that is open; answers where each message is. Raises `TooLarge`.

    It waits for who else is publishing to the same partitions, so it comes last in a transaction. Once that
    is committed, `EmbeddedBus.tell` lets members of this process look at once.
    """
    for message in messages:
        if size_of(message) > MOST_BYTES:
            raise TooLarge(f"a message of {size_of(message)} bytes is too large: {MOST_BYTES} are taken")
    places = [Place(message.topic, partition_of(message)) for message in messages]
    at, heads = now(connection), _locked_heads(connection, sorted(set(places)))
    rows, put = [], []
    for message, place in zip(messages, places, strict=True):
        rows.append(_row(message, place, heads[place]) | {"created_at": at})
        put.append((place, heads[place]))
        heads[place] += 1
    insert_rows(connection, bus_message, rows)
    update_rows(connection, bus_position, [_head(place, heads[place], at) for place in sorted(heads)], KEY)
    return put


def _locked_heads(connection: Connection, places: Sequence[Place]) -> dict[Place, int]:
    heads = _heads(connection, places)
    if missing := [place for place in places if place not in heads]:
        at = now(connection)
        new = [_head(place, 0, at) | {"fence": 0} for place in missing]
        insert_new(connection, bus_position, new, KEY)
        heads |= _heads(connection, missing)
    return heads


def _heads(connection: Connection, places: Sequence[Place]) -> dict[Place, int]:
    wanted = tuple_(P.topic, P.partition).in_([tuple(place) for place in places])
    chosen = select(P.topic, P.partition, P.position).where(P.group_id == NOBODY, wanted)
    rows = connection.execute(chosen.order_by(P.topic, P.partition).with_for_update())
    return {Place(row.topic, row.partition): row.position for row in rows}


def _head(place: Place, position: int, at: object) -> dict[str, object]:
    topic, partition = place
    return {
        "group_id": NOBODY,
        "topic": topic,
        "partition": partition,
        "position": position,
        "updated_at": at,
    }


def _row(message: Outgoing, place: Place, offset: int) -> dict[str, object]:
    headers = [[name, b64encode(value).decode()] for name, value in message.headers]
    return {
        "topic": message.topic,
        "partition": place.partition,
        "offset": offset,
        "key": message.key,
        "value": message.value,
        "headers": headers or None,
    }


class Publishing:
    """Publishes what callers hand to the group committer, each a few messages: all of them or none."""

    key_may_repeat = True
    locks = Locks.HEADS
    is_single_statement = False

    def write(
        self, connection: Connection, items: Sequence[Sequence[Outgoing]]
    ) -> Sequence[Sequence[tuple[Place, int]]]:
        put = iter(publish_messages(connection, [message for item in items for message in item]))
        return [[next(put) for _ in item] for item in items]


def heads(topics: Collection[str]) -> Select[Any]:
    """Where the next message of each partition will be put: `topic`, `partition`, `position`."""
    return select(P.topic, P.partition, P.position).where(P.group_id == NOBODY, P.topic.in_(topics))


def read_messages(connection: Connection, wanted: Mapping[Place, int], most: int) -> list[Message]:
    """So many messages at most, from these offsets on; of several partitions, each has its share."""
    share = max(1, most // max(1, len(wanted)))
    found: list[Message] = []
    for place, offset in wanted.items():
        of_place = select(bus_message).where(
            M.topic == place.topic, M.partition == place.partition, M.offset >= offset
        )
        found += map(_message, connection.execute(of_place.order_by(M.offset).limit(share)))
    return found


def _message(row: Row[Any]) -> Message:
    headers: Headers = tuple((name, b64decode(value)) for name, value in row.headers or ())
    return Message(row.topic, row.partition, row.offset, row.key, row.value, headers, row.created_at)


class OldMessages:
    """`engine.housekeeping.Expiring`: messages that are old enough, and that no group is still to read. A
    group that has not been seen for as long does not count."""

    def __init__(self, database: Database, kept_for: timedelta) -> None:
        self._database, self._kept_for = database, kept_for

    async def forget_expired(self, most: int) -> int:
        return await self._database.write(lambda connection: self._forget(connection, most))

    def _forget(self, connection: Connection, most: int) -> int:
        before = now(connection) - self._kept_for
        waited_for = exists().where(
            P.topic == M.topic,
            P.partition == M.partition,
            P.group_id != NOBODY,
            P.position <= M.offset,
            P.updated_at > before,
        )
        key = (M.topic, M.partition, M.offset)
        old = select(*key).where(M.created_at < before, ~waited_for).order_by(M.created_at).limit(most)
        places = [tuple(row) for row in connection.execute(old)]
        if places:
            connection.execute(delete(bus_message).where(tuple_(*key).in_(sorted(places))))
        return len(places)
