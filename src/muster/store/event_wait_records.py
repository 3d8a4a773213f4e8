"""Waits for events as nodes, messages and people find them."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.exc import DBAPIError

from muster.engine.event_keys import TopicFields
from muster.engine.event_wait_codec import plan_of
from muster.engine.event_waits import Arrived, Verdict, WaitStatus
from muster.engine.ports import NotWritten
from muster.nodes.waiting_for_events import KeptWait
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.event_waits import W, received_of
from muster.store.resuming import Receptions, all_written
from muster.store.tables import execution_wait_states, wait_topic


class EventWaitRepository:
    """`nodes.waiting_for_events.EventWaits` on a database."""

    def __init__(self, database: Database, receptions: Receptions) -> None:
        self._database, self._receptions = database, receptions

    async def receive(self, events: Sequence[Arrived]) -> Sequence[Verdict]:
        submitted = [self._receptions.submit(each) for each in events]
        return [each.verdict for each in await all_written(submitted)]

    async def find(self, execution_id: str, node: str, visit: int) -> KeptWait | None:
        mine = (W.execution_id == execution_id, W.node_id == node, W.visit == visit)
        row = await self._read(lambda connection: connection.execute(_WHOLE.where(*mine)).first())
        return None if row is None else _kept(row)

    async def topics(self) -> Collection[TopicFields]:
        """The topics that waits have named, and where the ids are in their messages."""
        rows = await self._read(lambda connection: connection.execute(select(wait_topic)).all())
        return [TopicFields(*row) for row in rows]

    async def _read(self, work: Any) -> Any:
        try:
            return await self._database.read(work)
        except (*TROUBLE, DBAPIError) as away:
            raise NotWritten(str(away)) from away


_WHOLE = select(execution_wait_states)


def _kept(row: Row[Any]) -> KeptWait:
    return KeptWait(
        id=row.id,
        correlation_id=row.correlation_id,
        status=WaitStatus(row.status),
        plan=plan_of(row.config),
        expires_at=row.expires_at,
        received=received_of(row),
        response=row.api_call_response,
    )
