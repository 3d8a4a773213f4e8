"""The outbox, for people to look at: what waits, what was published, and how streams stand."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Subquery, func, select, union_all

from muster.engine.outbox import MessageStatus, OutboxEntry, Stream, StreamState, WantedMessages
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.paging import read_page
from muster.store.tables import outbox_message, outbox_stream

M = outbox_message.c
S = outbox_stream.c
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

        def read(connection: Connection) -> tuple[Sequence[OutboxEntry], str | None]:
            found = chosen
            if wanted.status is MessageStatus.PENDING:
                few = waiting(_streams(connection).values())
                found = chosen.join(few, few.c.id == M.id)
            return read_page(connection, "outbox", found, [M.id], page, _entry, newest_first=True)

        return await self._database.read(read)

    async def streams(self) -> Sequence[StreamState]:
        return await self._database.read(stream_states)


def _streams(connection: Connection) -> dict[str, Row[Any]]:
    return {row.stream: row for row in connection.execute(select(outbox_stream))}


def waiting(streams: Iterable[Row[Any]]) -> Subquery:
    """What has no place yet, and what has one and is not known to be on the bus: each found along its index,
    however much was published."""
    unclaimed = select(M.id, M.stream, M.created_at).where(M.seq.is_(None))
    placed = [
        select(M.id, M.stream, M.created_at).where(M.stream == row.stream, M.seq > row.published_seq)
        for row in streams
    ]
    unpublished = (each.where(M.published_at.is_(None)) for each in (unclaimed, *placed))
    return union_all(*unpublished).subquery("waiting")


def stream_states(connection: Connection) -> list[StreamState]:
    known = _streams(connection)
    left = waiting(known.values())
    figures = (func.count().label("pending"), func.min(left.c.created_at).label("oldest"))
    counted = select(left.c.stream, *figures).group_by(left.c.stream)
    waits = {row.stream: row for row in connection.execute(counted)}
    at = now(connection)
    found = []
    for stream in Stream:
        row, unsent = known.get(stream), waits.get(stream)
        held = row is not None and row.lease_until is not None and row.lease_until > at
        found.append(
            StreamState(
                stream=stream.value,
                pending=unsent.pending if unsent else 0,
                oldest=unsent.oldest if unsent else None,
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
        seq=row.seq if row.seq is not None and row.seq > 0 else None,
        topic=row.topic,
        key=row.key,
        reference=row.reference,
        size=row.size or 0,
        status=status,
        created_at=row.created_at,
        published_at=row.published_at,
        error=row.error,
    )
