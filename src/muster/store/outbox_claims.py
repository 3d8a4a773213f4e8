"""Claiming messages of a stream: they are given consecutive places under the lock of the stream's row.

On PostgreSQL that is a single statement, since how soon a message is published depends on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, select, update

from muster.engine.bus import Outgoing
from muster.engine.publishing import Held, Overtaken, Queued
from muster.store.dialect import Numbering, now
from muster.store.driver import fetch
from muster.store.outbox import decode_headers
from muster.store.tables import outbox_message, outbox_stream

M = outbox_message.c
S = outbox_stream.c
# A lease is prolonged once this part of it is over.
PROLONGED_AFTER = 3

OF_STREAM = select(outbox_stream).where(S.stream == bindparam("of_stream"))
# Nobody else changes the stream meanwhile. Who only marks what was published waits for nobody but a renewal,
# and keeps only that waiting (on PostgreSQL; elsewhere it waits its turn).
FENCED = OF_STREAM.where(S.fence == bindparam("under")).with_for_update(key_share=True)
CALLED = (
    select(S.stream)
    .where(S.stream == bindparam("of_stream"), S.name == bindparam("called"))
    .with_for_update(read=True, key_share=True)
)
MESSAGE: tuple[ColumnElement[Any], ...] = (
    M.seq,
    M.topic,
    M.key,
    M.headers,
    M.value,
    M.created_at,
    M.error,
)
WAITING = (
    select(M.id)
    .where(M.stream == bindparam("of_stream"), M.seq.is_(None), M.published_at.is_(None))
    # As the index has them, though none has a place: by `id` alone all that wait would be sorted each time.
    .order_by(M.seq, M.id)
    .limit(bindparam("most"))
)
NUMBERING = Numbering(outbox_message, WAITING, "seq", MESSAGE)
WITH_PLACES = (
    select(*MESSAGE)
    .where(M.stream == bindparam("of_stream"), M.seq > bindparam("after"))
    .order_by(M.seq)
    .limit(bindparam("most"))
)
# Places are given only where all that were given before are in hand: `next_seq` says so, under the lock.
# As the driver takes it, so that nothing has to be made of it each time: the stream, the fence, after which
# place, up to where all is published, how many at most, and in seconds the lease and what is fresh of it.
AT_ONCE = """
    WITH mine AS MATERIALIZED (
        SELECT stream, next_seq, published_seq, lease_until, problem FROM outbox_stream
        WHERE stream = $1::text AND fence = $2::bigint FOR NO KEY UPDATE
    ), waiting AS MATERIALIZED (
        SELECT id, row_number() OVER (ORDER BY id) AS place FROM (
            SELECT id FROM outbox_message
            WHERE stream = $1::text AND seq IS NULL AND published_at IS NULL
                AND (SELECT next_seq FROM mine) = $3::bigint + 1
            ORDER BY seq, id LIMIT $5::bigint
        ) AS found
    ), claimed AS (
        UPDATE outbox_message AS message SET seq = $3::bigint + waiting.place FROM waiting
        WHERE message.id = waiting.id
        RETURNING message.seq, topic, key, headers, value, created_at, error
    ), kept AS (
        UPDATE outbox_stream AS stream SET
            next_seq = mine.next_seq + (SELECT count(*) FROM waiting),
            published_seq = greatest(mine.published_seq, $4::bigint),
            lease_until = clock_timestamp() + make_interval(secs => $6::double precision),
            problem = NULL
        FROM mine WHERE stream.stream = mine.stream AND (
            EXISTS (SELECT FROM waiting) OR mine.published_seq < $4::bigint OR mine.problem IS NOT NULL
            OR mine.lease_until IS NULL
            OR mine.lease_until < clock_timestamp() + make_interval(secs => $7::double precision)
        )
    )
    SELECT claimed.*, mine.next_seq FROM mine LEFT JOIN claimed ON true ORDER BY claimed.seq
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What follows the place `after`, so many at most; all up to `published` is on the bus."""

    held: Held
    after: int
    published: int
    most: int
    lease: timedelta

    @property
    def fresh(self) -> timedelta:
        """What has to be left of a lease that is not prolonged."""
        return self.lease - self.lease / PROLONGED_AFTER


def claim_at_once(connection: Connection, wanted: Wanted) -> list[Queued] | None:
    """On PostgreSQL. None: nothing was claimed, and somebody has to look closer: messages have places
    already, or the stream is another's. (What is raised here would come too late: the
    statement is committed.)"""
    given = (
        wanted.held.stream.value,
        wanted.held.fence,
        wanted.after,
        wanted.published,
        wanted.most,
        wanted.lease.total_seconds(),
        wanted.fresh.total_seconds(),
    )
    rows = fetch(connection, AT_ONCE, given)
    if not rows or rows[0].next_seq != wanted.after + 1:
        return None
    return [queued(row[:-1]) for row in rows if row[0] is not None]


def claim(connection: Connection, wanted: Wanted) -> list[Queued]:
    """Raises `Overtaken`."""
    row = locked(connection, wanted.held)
    given = {"of_stream": row.stream, "most": wanted.most}
    if row.next_seq - 1 > wanted.after:
        # What was given a place before comes first: whoever did so may have died over it.
        found = connection.execute(WITH_PLACES, {**given, "after": wanted.after})
        batch = [queued(each) for each in found]
    else:
        numbered = NUMBERING.run(connection, row.next_seq, **given)
        batch = sorted(map(queued, numbered), key=lambda each: each.seq)
    _keep(connection, row, wanted, batch)
    return batch


def locked(connection: Connection, held: Held) -> Row[Any]:
    """The stream's row, if the fence is still this one. Raises `Overtaken`."""
    row = connection.execute(FENCED, {"of_stream": held.stream, "under": held.fence}).one_or_none()
    if row is None:
        raise Overtaken(f"the stream {held.stream} is another's")
    return row


def still_called(connection: Connection, held: Held) -> None:
    """Keep the stream from being renewed: what its places are of stays as it is. Raises `Overtaken`: it was
    renewed, and they are other messages' now."""
    given = {"of_stream": held.stream, "called": held.name}
    if connection.execute(CALLED, given).one_or_none() is None:
        raise Overtaken(f"the stream {held.stream} was renewed")


def _keep(connection: Connection, row: Row[Any], wanted: Wanted, batch: Sequence[Queued]) -> None:
    """Note what has changed of the stream; where nothing has, and the lease is fresh, nothing is written."""
    at = now(connection)
    next_seq = max([row.next_seq, *(each.seq + 1 for each in batch)])
    published = max(row.published_seq, wanted.published)
    fresh = row.lease_until is not None and row.lease_until > at + wanted.fresh
    if fresh and row.problem is None and (next_seq, published) == (row.next_seq, row.published_seq):
        return
    kept = {
        "next_seq": next_seq,
        "published_seq": published,
        "lease_until": at + wanted.lease,
        "problem": None,
    }
    connection.execute(update(outbox_stream).where(S.stream == row.stream).values(kept))


def queued(row: Sequence[Any]) -> Queued:
    seq, topic, key, headers, value, created_at, error = row
    return Queued(seq, Outgoing(topic, value, key, decode_headers(headers)), created_at, error is not None)
