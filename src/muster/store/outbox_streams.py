"""Streams of the outbox: who has them, what is next, and what was published.

All of it happens under the lock of the stream's row, by whoever has its fence. What is written into the
outbox meanwhile waits for nobody.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar
from uuid import uuid4

from sqlalchemy import Connection, Row, bindparam, func, select, update

from muster.engine.bus import Outgoing
from muster.engine.outbox import Stream
from muster.engine.ports import NotWritten
from muster.engine.publishing import Held, Queued, Standing
from muster.store.committer import TROUBLE
from muster.store.database import Database, Work
from muster.store.dialect import Changing, insert_new, now
from muster.store.message_letters import Undelivered, write_undelivered
from muster.store.outbox import SET_ASIDE, decode_headers
from muster.store.outbox_claims import OF_STREAM, Wanted, claim, claim_at_once, locked, still_called
from muster.store.tables import outbox_message, outbox_stream

T = TypeVar("T")
M = outbox_message.c
S = outbox_stream.c

# What is marked may be further than what was noted, and what was noted may be gone. What the bus refuses is
# marked before its place is passed.
MARKED_LAST = (
    select(func.max(M.seq))
    .where(
        M.stream == bindparam("of_stream"),
        M.seq > S.published_seq,
        M.published_at.is_not(None),
        M.error.is_(None),
    )
    .scalar_subquery()
)
STANDING = select(
    S.fence, S.next_seq, func.coalesce(MARKED_LAST, S.published_seq).label("published_seq")
).where(S.stream == bindparam("of_stream"))
UNMARKED = (
    M.stream == bindparam("of_stream"),
    # What is marked already need not be passed over each time.
    M.seq > bindparam("after"),
    M.seq <= bindparam("up_to"),
    M.published_at.is_(None),
)
MARK: dict[str, Any] = {"published_at": bindparam("at")}
MARKING = Changing(outbox_message, UNMARKED, MARK, [M.reference])
# On PostgreSQL nothing comes back of those that nobody has to be told of.
MARKED = update(outbox_message).where(*UNMARKED).values(MARK).returning(M.reference).cte("marked")
REFERENCES = select(MARKED.c.reference).where(MARKED.c.reference.is_not(None))


Tell: TypeAlias = Callable[[], None]


def nobody() -> None:
    """`Tell` where nobody is to be told."""


class Senders(Protocol):
    """Who is told, in the same transaction, what became of messages: those that had a reference, by it. Each
    is told once. Rows of executions are not to be locked here."""

    def published(self, connection: Connection, references: Sequence[str], at: datetime) -> Tell:
        """Answers what is to be called once this is durable: a transaction may come to nothing."""
        ...

    def refused(self, connection: Connection, reasons: Mapping[str, str], at: datetime) -> None: ...


class Nobody:
    """`Senders` that need not be told."""

    def published(self, connection: Connection, references: Sequence[str], at: datetime) -> Tell:
        return nobody

    def refused(self, connection: Connection, reasons: Mapping[str, str], at: datetime) -> None:
        return


@dataclass(frozen=True, slots=True)
class Lessee:
    """Who leases streams. What belongs to owners whose names begin with `earlier` belongs to nobody: they
    were this one before."""

    owner: str
    earlier: str
    lease: timedelta

    def may_have(self, row: Row[Any], at: datetime) -> bool:
        free = row.owner is None or row.lease_until is None or row.lease_until < at
        return free or row.owner.startswith(self.earlier)


class OutboxStreamRepository:
    """`engine.publishing.OutboxStreams` on a database."""

    def __init__(self, database: Database, lessee: Lessee, senders: Senders | None = None) -> None:
        self._database, self._lessee, self._senders = database, lessee, senders or Nobody()

    async def lease(self, stream: Stream) -> Held | None:
        return await self._write(lambda connection: lease(connection, stream, self._lessee))

    async def standing(self, stream: Stream) -> Standing:
        def work(connection: Connection) -> Standing:
            row = connection.execute(STANDING, {"of_stream": stream}).one()
            return Standing(row.fence, row.next_seq, row.published_seq)

        return await self._read(work)

    async def keep(self, held: Held) -> None:
        await self._write(partial(keep, held=held))

    async def claim(self, held: Held, after: int, published: int, most: int) -> Sequence[Queued]:
        wanted = Wanted(held, after, published, most, self._lessee.lease)
        try:
            if self._database.dialect_name == "postgresql":
                found = await self._database.write(
                    lambda connection: claim_at_once(connection, wanted), single=True
                )
                if found is not None:
                    return found
            return await self._database.write(partial(claim, wanted=wanted))
        except TROUBLE as away:
            raise NotWritten(str(away)) from away

    async def mark(self, held: Held, after: int, published: int) -> None:
        tell = await self._write(
            lambda connection: mark_published(connection, held, after, published, self._senders)
        )
        tell()

    async def refuse(self, held: Held, reasons: Mapping[int, str]) -> None:
        def work(connection: Connection) -> None:
            locked(connection, held)
            refused = select(M.id, M.seq).where(M.stream == held.stream, M.seq.in_(sorted(reasons)))
            found = {row.id: reasons[row.seq] for row in connection.execute(refused)}
            give_up(connection, found, self._senders)

        await self._write(work)

    async def stop(self, held: Held, problem: str) -> None:
        stopped = update(outbox_stream).where(S.stream == held.stream, S.fence == held.fence)
        await self._write(lambda connection: connection.execute(stopped.values(problem=problem)))

    async def release(self, held: Held) -> None:
        left = update(outbox_stream).where(S.stream == held.stream, S.fence == held.fence)
        await self._write(lambda connection: connection.execute(left.values(owner=None, lease_until=None)))

    async def _write(self, work: Work[T]) -> T:
        try:
            return await self._database.write(work)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away

    async def _read(self, work: Work[T]) -> T:
        try:
            return await self._database.read(work, single=True)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away


def lease(connection: Connection, stream: Stream, lessee: Lessee) -> Held | None:
    """Raise the fence, unless somebody else has the stream."""
    row = lock_stream(connection, stream)
    at = now(connection)
    if not lessee.may_have(row, at):
        return None
    held = Held(stream, row.name, row.fence + 1, lessee.lease)
    taken = {"fence": held.fence, "owner": lessee.owner, "lease_until": at + lessee.lease}
    connection.execute(update(outbox_stream).where(S.stream == stream).values(taken))
    return held


def keep(connection: Connection, held: Held) -> None:
    """Raises `Overtaken`."""
    locked(connection, held)
    until = now(connection) + held.lease
    connection.execute(update(outbox_stream).where(S.stream == held.stream).values(lease_until=until))


def lock_stream(connection: Connection, stream: Stream) -> Row[Any]:
    """The stream's row, made if there is none."""
    found = OF_STREAM.with_for_update()
    row = connection.execute(found, {"of_stream": stream}).one_or_none()
    if row is None:
        name = f"muster.{stream}.{uuid4().hex}"
        new = {"stream": stream.value, "name": name, "next_seq": 1, "published_seq": 0, "fence": 0}
        insert_new(connection, outbox_stream, [new], ("stream",))
        row = connection.execute(found, {"of_stream": stream}).one()
    return row


def mark_published(connection: Connection, held: Held, after: int, up_to: int, senders: Senders) -> Tell:
    """Mark what was published, and tell those who wait for that. Of several who do so at once, each message
    is marked by one. Raises `Overtaken`."""
    still_called(connection, held)
    at = now(connection)
    given = {"of_stream": held.stream.value, "after": after, "up_to": up_to, "at": at}
    if connection.dialect.name == "postgresql":
        found = connection.scalars(REFERENCES, given).all()
    else:
        found = [row.reference for row in MARKING.run(connection, **given) if row.reference is not None]
    return senders.published(connection, references, at) if (references := sorted(found)) else nobody


def give_up(connection: Connection, reasons: Mapping[int, str], senders: Senders) -> None:
    """Keep messages, by the ids of their rows, as dead letters, and tell those who wait for them."""
    at = now(connection)
    rows = connection.execute(
        select(outbox_message).where(M.id.in_(sorted(reasons)), M.published_at.is_(None)).with_for_update()
    ).all()
    for row in rows:
        refused = update(outbox_message).where(M.id == row.id)
        place = SET_ASIDE if row.seq is None else row.seq
        connection.execute(refused.values(published_at=at, error=reasons[row.id], seq=place))
    write_undelivered(
        connection,
        [
            Undelivered(
                row.message_id,
                Outgoing(row.topic, row.value, row.key, decode_headers(row.headers)),
                row.institute_id,
                reasons[row.id],
            )
            for row in rows
        ],
        at,
    )
    if told := {row.reference: reasons[row.id] for row in rows if row.reference is not None}:
        senders.refused(connection, told, at)
