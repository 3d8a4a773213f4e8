"""Letting a stream of the outbox begin anew that stopped: under another name, with all places free again."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

from sqlalchemy import Connection, update

from muster.engine.outbox import NotStopped, Stream, StreamState
from muster.model.stored import AuditEntry
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.outbox import SET_ASIDE
from muster.store.outbox_lists import stream_states
from muster.store.outbox_streams import lock_stream
from muster.store.tables import outbox_message, outbox_stream

M = outbox_message.c
S = outbox_stream.c


class StreamRenewal:
    """`engine.outbox.Renewal` on a database. `tell` lets who publishes look at once."""

    def __init__(self, database: Database, tell: Callable[[Stream], None]) -> None:
        self._database, self._tell = database, tell

    async def renew(self, stream: Stream, actor: str, reason: str) -> StreamState:
        state = await self._database.write(partial(renew, stream=stream, actor=actor, reason=reason))
        self._tell(stream)
        return state


def renew(connection: Connection, stream: Stream, actor: str, reason: str) -> StreamState:
    """Nobody publishes under the old name any more: whoever found the problem has fenced those before, and
    who comes after has to claim under a fence that is over. Raises `NotStopped`."""
    row = lock_stream(connection, stream)
    if row.problem is None:
        raise NotStopped(f"the stream {stream} has not stopped")
    placed = update(outbox_message).where(M.stream == stream, M.seq > 0)
    connection.execute(placed.where(M.published_at.is_not(None)).values(seq=SET_ASIDE))
    connection.execute(placed.where(M.published_at.is_(None)).values(seq=None))
    anew = {
        "name": f"muster.{stream}.{uuid4().hex}",
        "next_seq": 1,
        "published_seq": 0,
        "fence": row.fence + 1,
        "owner": None,
        "lease_until": None,
        "problem": None,
    }
    connection.execute(update(outbox_stream).where(S.stream == stream).values(anew))
    [state] = [each for each in stream_states(connection) if each.stream == stream]
    told = {"reason": reason, "problem": row.problem, "name": row.name, "pending": state.pending}
    entry = AuditEntry("outbox_stream", stream.value, "renew", actor, details=told)
    add_audit(connection, entry, now(connection))
    return state
