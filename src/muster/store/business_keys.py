"""Events under business keys: kept until the waits that expect them meet them, whichever comes first.

An event is kept before anybody looks for its wait, and a wait's key before anybody looks for its events; the
pass that brings the two together looks at both, and comes again. So neither is missed, however they cross.
Whether they meet is decided by when each began, not by when the pass comes: an event is for the waits that
were there when it came, however old it is, and for those that begin while it is kept.
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, delete, exists, or_, select, update

from muster.engine.event_keys import KeyedEvent
from muster.engine.event_waits import Accepted, Arrived, Source, WaitStatus, passes
from muster.engine.ports import NotWritten
from muster.store.committer import TROUBLE
from muster.store.database import Database, Work
from muster.store.dialect import insert_new, now
from muster.store.event_receiving import Receiving
from muster.store.tables import buffered_event, buffered_event_wait, execution_wait_states, wait_key

T = TypeVar("T")
B = buffered_event.c
K = wait_key.c
M = buffered_event_wait.c
W = execution_wait_states.c
AT_ONCE = 200
Taken = tuple[Arrived, Accepted]
Heard = Callable[[Sequence[Taken]], None]
# At least so long an event is known after it came, so that a repeat of its message is recognised.
REMEMBERED = timedelta(hours=1)
# A key and an event that may meet.
OPEN = W.status == WaitStatus.WAITING.value
APART = ~exists().where(M.event_id == B.id, M.wait_id == K.wait_id)
IN_TIME = or_(K.created_at <= B.received_at, K.created_at <= B.expires_at)
MAY_MEET = (B.taken.is_(False), OPEN, APART, IN_TIME)
MEETING = (
    select(B.id)
    .join(wait_key, K.hash == B.hash)
    .join(execution_wait_states, W.id == K.wait_id)
    .where(*MAY_MEET)
)
PAIRS: Select[Any] = (
    select(
        B.id,
        B.topic,
        B.hash,
        B.payload,
        B.trace_parent,
        K.wait_id,
        K.event,
        K.cardinality,
        K.filter,
        W.execution_id,
        W.correlation_id,
    )
    .join(wait_key, K.hash == B.hash)
    .join(execution_wait_states, W.id == K.wait_id)
    .where(*MAY_MEET)
    .order_by(B.id, K.created_at, K.wait_id)
)


class BusinessKeys:
    """`nodes.event_messages.KeyedEvents` on a database. `heard` is told what waits have taken, once that is
    durable."""

    def __init__(self, database: Database, instance: str, heard: Heard | None = None) -> None:
        self._database, self._receiving, self._heard = database, Receiving(instance), heard

    async def keep(self, events: Sequence[KeyedEvent]) -> None:
        rows = [_row(event) for event in events]
        await self._write(lambda connection: insert_new(connection, buffered_event, rows, ("message_hash",)))

    async def meet(self) -> int:
        """Bring some together; how many waits have got an event. 0: there is nothing more to do."""
        done, taken = await self._write(self._meet)
        if taken and self._heard is not None:
            self._heard(taken)
        return done

    def _meet(self, connection: Connection) -> tuple[int, list[Taken]]:
        """How many have nothing more to do with each other, and what was taken."""
        found = sorted(set(connection.scalars(MEETING.order_by(B.id).limit(AT_ONCE))))
        if not found:
            return 0, []
        # Locked before anything else is: of several who do this, one deals with an event.
        free = select(B.id).where(B.id.in_(found), B.taken.is_(False)).order_by(B.id).with_for_update()
        events = connection.scalars(free).all()
        if not events:
            return 0, []
        chosen, filtered = _chosen(connection.execute(PAIRS.where(B.id.in_(events))).all())
        arrived = [_arrived(pair) for pair in chosen]
        verdicts = self._receiving.write(connection, arrived)
        taken = [
            (event, verdict)
            for event, verdict in zip(arrived, verdicts, strict=True)
            if isinstance(verdict, Accepted)
        ]
        met = [pair for pair, verdict in zip(chosen, verdicts, strict=True) if isinstance(verdict, Accepted)]
        alone = [pair.id for pair in met if pair.cardinality == "one"]
        if alone:
            connection.execute(update(buffered_event).where(B.id.in_(alone)).values(taken=True))
        done = {(pair.id, pair.wait_id) for pair in (*chosen, *filtered)}
        rows = [{"event_id": event, "wait_id": wait} for event, wait in sorted(done)]
        insert_new(connection, buffered_event_wait, rows, ("event_id", "wait_id"))
        return len(done), taken

    async def forget_expired(self, most: int) -> int:
        """Remove some of what has had its time: events, and keys of waits that are over."""
        return await self._write(lambda connection: _forget(connection, most))

    async def _write(self, work: Work[T]) -> T:
        try:
            return await self._database.write(work)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away


def _chosen(pairs: Sequence[Row[Any]]) -> tuple[list[Row[Any]], list[Row[Any]]]:
    """Those who meet, each event of its own with one wait, and each wait with one event of a name; and those
    whom a filter keeps apart."""
    chosen: list[Row[Any]] = []
    filtered: list[Row[Any]] = []
    given: set[int] = set()
    has: set[tuple[str, str]] = set()
    for pair in pairs:
        if not passes(pair.filter, pair.payload):
            filtered.append(pair)
        elif (pair.wait_id, pair.event) not in has and (pair.cardinality == "all" or pair.id not in given):
            chosen.append(pair)
            given.add(pair.id)
            has.add((pair.wait_id, pair.event))
    return chosen, filtered


def _arrived(pair: Row[Any]) -> Arrived:
    ids = (pair.execution_id, pair.correlation_id)
    trace: str | None = pair.trace_parent
    return Arrived(Source.KAFKA, *ids, pair.payload, pair.topic, pair.event, key=pair.hash, trace=trace)


def _row(event: KeyedEvent) -> dict[str, object]:
    return {
        "message_hash": hashlib.sha256(f"{event.name}\n{event.hash}".encode()).hexdigest(),
        "hash": event.hash,
        "topic": event.topic,
        "payload": event.data,
        "taken": False,
        "received_at": event.received_at,
        "expires_at": event.expires_at,
        "trace_parent": event.trace,
    }


def _forget(connection: Connection, most: int) -> int:
    at = now(connection)
    old = select(B.id).where(B.expires_at <= at, B.received_at <= at - REMEMBERED)
    events = sorted(connection.scalars(old.order_by(B.expires_at).limit(most)))
    if events:
        connection.execute(delete(buffered_event_wait).where(M.event_id.in_(events)))
        connection.execute(delete(buffered_event).where(B.id.in_(events)))
    # One whose time was over may be armed again, and then expects the same.
    is_over = or_(W.id.is_(None), W.status.not_in((WaitStatus.WAITING.value, WaitStatus.TIMEOUT.value)))
    over = select(K.wait_id).join(execution_wait_states, W.id == K.wait_id, isouter=True)
    waits = sorted(set(connection.scalars(over.where(is_over).limit(most))))
    if waits:
        connection.execute(delete(wait_key).where(K.wait_id.in_(waits)))
    return len(events)
