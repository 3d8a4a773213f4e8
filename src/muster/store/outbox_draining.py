"""The outbox on the embedded bus: a batch is published and marked in one transaction, so there is nothing to
recover. Whichever instance comes first does it; the stream's row lets one in at a time."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, Select, select, update

from muster.engine.bus import Outgoing
from muster.engine.outbox import Stream
from muster.engine.ports import NotWritten
from muster.engine.publishing import LOOK_EVERY, PublishingObserver, Queued
from muster.store.bus_log import MOST_BYTES, publish_messages, size_of
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.outbox import SET_ASIDE, decode_headers
from muster.store.outbox_claims import WAITING
from muster.store.outbox_streams import Nobody, Senders, Tell, give_up, lock_stream, nobody
from muster.store.tables import outbox_message

M = outbox_message.c
MESSAGES: Select[Any] = select(M.id, M.topic, M.key, M.headers, M.value, M.reference, M.created_at)


@dataclass(frozen=True, slots=True)
class Drained:
    """What a transaction has published, and what it has given up, by the ids of the rows; and who is to be
    told."""

    published: Sequence[Queued] = ()
    refused: dict[int, str] = field(default_factory=dict)
    tell: Tell = nobody


class StreamDraining:
    """Publishes one stream on the embedded bus. `tell` lets its members in this process look at once."""

    def __init__(
        self,
        stream: Stream,
        database: Database,
        tell: Callable[[Collection[str]], None],
        observer: PublishingObserver,
        batch_size: int,
        senders: Senders | None = None,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self._look_every = look_every
        self._stream, self._database, self._tell = stream, database, tell
        self._observer, self._batch_size, self._senders = observer, batch_size, senders or Nobody()

    @property
    def has_it(self) -> bool:
        """Everybody publishes it."""
        return True

    def wake(self) -> None:
        """It looks until nothing waits, whoever has written it."""
        return

    async def work(self) -> float:
        """Publish all that waits; when to come again. Raises `NotWritten`."""
        while await self._is_waiting():
            drained = await self._drain()
            drained.tell()
            self._tell({queued.message.topic for queued in drained.published})
            if drained.refused:
                self._observer.refused(self._stream, drained.refused)
            self._observer.published(self._stream, drained.published)
        return self._look_every

    async def _is_waiting(self) -> bool:
        """Asked first, without a lock: mostly there is nothing to do."""
        one = {"of_stream": self._stream, "most": 1}
        try:
            found = await self._database.read(lambda connection: connection.scalar(WAITING, one), single=True)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
        return found is not None

    async def _drain(self) -> Drained:
        try:
            return await self._database.write(
                lambda connection: drain(connection, self._stream, self._batch_size, self._senders)
            )
        except TROUBLE as away:
            raise NotWritten(str(away)) from away


def drain(connection: Connection, stream: Stream, most: int, senders: Senders) -> Drained:
    """Publish what comes next, and mark it. What is too large for the bus is given up."""
    lock_stream(connection, stream)
    ids = connection.scalars(WAITING, {"of_stream": stream, "most": most}).all()
    rows = connection.execute(MESSAGES.where(M.id.in_(ids)).order_by(M.id)).all() if ids else []
    found = {row.id: _outgoing(row) for row in rows}
    too_large = {
        identity: f"a message of {size_of(message)} bytes is too large: {MOST_BYTES} are taken"
        for identity, message in found.items()
        if size_of(message) > MOST_BYTES
    }
    if too_large:
        give_up(connection, too_large, senders)
    kept = [row for row in rows if row.id not in too_large]
    tell = _mark(connection, kept, senders)
    # Last: it waits for others who publish to the same partitions.
    publish_messages(connection, [found[row.id] for row in kept])
    return Drained([Queued(row.id, found[row.id], row.created_at) for row in kept], too_large, tell)


def _mark(
    connection: Connection, rows: Sequence[Row[Any, Any, Any, Any, Any, Any, Any]], senders: Senders
) -> Tell:
    if not rows:
        return nobody
    at = now(connection)
    marked = update(outbox_message).where(M.id.in_([row.id for row in rows]))
    connection.execute(marked.values(published_at=at, seq=SET_ASIDE))
    references = sorted(row.reference for row in rows if row.reference is not None)
    return senders.published(connection, references, at) if references else nobody


def _outgoing(row: Row[Any]) -> Outgoing:
    return Outgoing(row.topic, row.value, row.key, decode_headers(row.headers))
