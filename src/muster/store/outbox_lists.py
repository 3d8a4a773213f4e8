"""The outbox, for people to look at: what waits, what was published, and how streams stand."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from muster.engine.outbox import MessageStatus, OutboxEntry, Stream, StreamState, WantedMessages
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.paging import read_page
from muster.store.tables import outbox_message, outbox_stream

M = outbox_message.c
S = outbox_stream.c
PENDING = (
    select(M.stream, func.count().label("pending"), func.min(M.created_at).label("oldest"))
    .where(M.published_at.is_(None))
    .group_by(M.stream)
)
STATUS: Mapping[MessageStatus, ColumnElement[bool]] = {
    MessageStatus.PENDING: M.published_at.is_(None),
    MessageStatus.PUBLISHED: M.published_at.is_not(None) & M.error.is_(None),
    MessageStatus.REFUSED: M.published_at.is_not(None) & M.error.is_not(None),
}
SHOWN = (
    *(column for column in M if column.name not in ("value", "headers")),
    func.length(M.value).label("size"),
)


class OutboxLists:
    """`engine.outbox.OutboxRecords` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self, institute_id: str | None, wanted: WantedMessages, page: Page
    ) -> tuple[Sequence[OutboxEntry], str | None]:
        given: tuple[tuple[ColumnElement[Any], object], ...] = (
            (M.institute_id, institute_id),
            (M.stream, wanted.stream),
            (M.topic, wanted.topic),
            (M.reference, wanted.reference),
        )
        chosen = select(*SHOWN).where(*(column == value for column, value in given if value is not None))
        if wanted.status is not None:
            chosen = chosen.where(STATUS[wanted.status])
        return await self._database.read(
            lambda connection: read_page(
                connection, "outbox", chosen, [M.id], page, _entry, newest_first=True
            )
        )

    async def streams(self) -> Sequence[StreamState]:
        return await self._database.read(stream_states)


def stream_states(connection: Connection) -> list[StreamState]:
    waiting = {row.stream: row for row in connection.execute(PENDING)}
    known = {row.stream: row for row in connection.execute(select(outbox_stream))}
    at = now(connection)
    found = []
    for stream in Stream:
        row, left = known.get(stream), waiting.get(stream)
        held = row is not None and row.lease_until is not None and row.lease_until > at
        found.append(
            StreamState(
                stream=stream.value,
                pending=left.pending if left else 0,
                oldest=left.oldest if left else None,
                published_seq=row.published_seq if row else 0,
                owner=row.owner if row and held else None,
                problem=row.problem if row else None,
            )
        )
    return found


def _entry(row: Row[Any]) -> OutboxEntry:
    status = MessageStatus.PENDING
    if row.published_at is not None:
        status = MessageStatus.PUBLISHED if row.error is None else MessageStatus.REFUSED
    return OutboxEntry(
        id=row.id,
        message_id=row.message_id,
        institute_id=row.institute_id,
        stream=row.stream,
        seq=row.seq,
        topic=row.topic,
        key=row.key,
        reference=row.reference,
        size=row.size or 0,
        status=status,
        created_at=row.created_at,
        published_at=row.published_at,
        error=row.error,
    )
