"""Replies that were set aside, on a database."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection, bindparam, delete, select

from muster.engine.bus import Message
from muster.engine.ports import NotWritten
from muster.nodes.replies_aside import Aside
from muster.store.committer import TROUBLE
from muster.store.database import Database, Work
from muster.store.dialect import Claim, insert_new, now
from muster.store.outbox import decode_headers, encode_headers
from muster.store.tables import reply_aside

T = TypeVar("T")
A = reply_aside.c
# Longer than it takes to try them: who dies over it lets others have them then.
TRIED_AGAIN_AFTER = timedelta(seconds=15)

DUE = (
    select(A.id)
    .where(A.next_try_at <= bindparam("at"))
    .order_by(A.next_try_at, A.id)
    .limit(bindparam("most"))
)
TAKING = Claim(reply_aside, DUE, {"next_try_at": bindparam("later")}, list(reply_aside.columns))


class AsideRepository:
    """`nodes.replies_aside.AsideMessages` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, messages: Sequence[Message]) -> None:
        def work(connection: Connection) -> None:
            at = now(connection)
            rows = [_row(message, at) for message in messages]
            insert_new(connection, reply_aside, rows, ("topic", "partition", "offset"))

        await self._write(work)

    async def take(self, most: int) -> Sequence[Aside]:
        def work(connection: Connection) -> list[Aside]:
            at = now(connection)
            found = TAKING.run(connection, at=at, later=at + TRIED_AGAIN_AFTER, most=most)
            return [
                Aside(
                    row.id,
                    Message(
                        row.topic,
                        row.partition,
                        row.offset,
                        row.key,
                        row.value,
                        decode_headers(row.headers),
                        row.published_at,
                    ),
                    row.created_at,
                )
                for row in sorted(found, key=lambda row: row.id)
            ]

        return await self._write(work)

    async def done(self, ids: Collection[int]) -> None:
        if ids:
            gone = delete(reply_aside).where(A.id.in_(sorted(ids)))
            await self._write(lambda connection: connection.execute(gone))

    async def _write(self, work: Work[T]) -> T:
        try:
            return await self._database.write(work)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away


def _row(message: Message, at: datetime) -> dict[str, object]:
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "key": message.key,
        "value": message.value,
        "headers": encode_headers(message.headers),
        "published_at": message.at,
        "created_at": at,
        "next_try_at": at,
    }
