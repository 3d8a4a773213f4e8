"""Writing messages into the outbox, in the transaction of what they tell of; and removing old ones."""

from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from sqlalchemy import Connection, delete, select

from muster.engine.bus import Headers
from muster.engine.outbox import OutgoingMessage, Stream
from muster.model.json import Json
from muster.store.database import Database
from muster.store.dialect import insert_new, now
from muster.store.tables import outbox_message

M = outbox_message.c
# What was published without a place among a stream's transactions, on the embedded bus or before the stream
# was renewed, has one that nobody gives: below zero, in the order in which it was written.
SET_ASIDE = M.id - 2**62


def add_messages(connection: Connection, messages: Sequence[OutgoingMessage]) -> None:
    """Write messages in the transaction that is open: they are published if, and only if, it is committed,
    and in the order given. It waits for nobody. Those whose ids are there already are left as they are."""
    if messages:
        at = now(connection)
        rows = [{**_row(message), "created_at": at} for message in messages]
        insert_new(connection, outbox_message, rows, ("message_id",))


def _row(message: OutgoingMessage) -> dict[str, object]:
    return {
        "message_id": message.id,
        "institute_id": message.institute_id,
        "stream": message.stream.value,
        "topic": message.topic,
        "key": message.key,
        "headers": encode_headers(message.headers),
        "value": message.value,
        "reference": message.reference,
    }


def encode_headers(headers: Headers) -> Json:
    """Headers as they are kept; None: there are none."""
    pairs: list[Json] = [[name, b2a_base64(value, newline=False).decode()] for name, value in headers]
    return pairs or None


def decode_headers(kept: Sequence[tuple[str, str]] | None) -> Headers:
    return tuple([(name, a2b_base64(value)) for name, value in kept]) if kept else ()


class OldPublished:
    """`engine.housekeeping.Expiring`: messages that were published, or refused, long enough ago. They are
    found by their places, in whose order they were published: no index knows when."""

    def __init__(self, database: Database, kept_for: timedelta) -> None:
        self._database, self._kept_for = database, kept_for

    async def forget_expired(self, most: int) -> int:
        return await self._database.write(partial(_forget, kept_for=self._kept_for, most=most))


def _forget(connection: Connection, kept_for: timedelta, most: int) -> int:
    first = [
        select(M.id, M.published_at).where(M.stream == stream.value, M.seq.is_not(None)).order_by(M.seq)
        for stream in Stream
    ]
    # An earlier release gives those no place that it has published on the embedded bus.
    first.append(select(M.id, M.published_at).where(M.seq.is_(None)).order_by(M.id))
    before = now(connection) - kept_for
    found = [row for some in first for row in connection.execute(some.limit(most))]
    published = [row for row in found if row.published_at is not None]
    old = sorted(row.id for row in published if row.published_at <= before)[:most]
    if old:
        connection.execute(delete(outbox_message).where(M.id.in_(old)))
    return len(old)
