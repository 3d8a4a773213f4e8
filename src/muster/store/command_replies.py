"""Replies to commands: stored, and whoever waits for them told.

That is one transaction for a whole batch, under the locks of the executions concerned: of any number of
replies to a command one is stored, and of a reply and the timeout one wins.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select
from sqlalchemy.exc import DBAPIError

from muster.engine.commands import (
    CommandStatus,
    Received,
    Reception,
    Reply,
    received_by,
)
from muster.engine.ports import NotWritten
from muster.model.json import JsonObject
from muster.nodes.command_replies import Expecting, ReplyTopic
from muster.store.answers import Answer, give
from muster.store.commands import K, answer_of
from muster.store.committer import TROUBLE, GroupCommitter, Locks
from muster.store.database import Database
from muster.store.dialect import now, update_rows
from muster.store.lock_order import lock_reached
from muster.store.tables import ID_LENGTH, reply_topic, workflow_kafka_commands
from muster.store.types import is_storable

HELD: Select[Any] = select(
    K.id,
    K.workflow_instance_id,
    K.step_id,
    K.visit,
    K.correlation_id,
    K.compensates,
    K.command_topic,
    K.reply_topic,
    K.reply_received_at,
    K.sent_at,
    K.completed_at,
    K.status,
    K.error_message,
)


@dataclass(slots=True)
class _Held:
    """A command that is locked, and the reply that this batch has for it."""

    row: Row[Any]
    reply: Reply | None = None
    received: Received | None = None

    def take(self, reply: Reply, at: datetime) -> Reception:
        has_reply = self.row.reply_received_at is not None or self.reply is not None
        verdict = received_by(CommandStatus(self.row.status), has_reply, self.row.reply_topic, reply.topic)
        if verdict in (Received.ACCEPTED, Received.LATE):
            self.reply, self.received = reply, verdict
        took = None if self.row.sent_at is None else at - self.row.sent_at
        return Reception(verdict, self.row.command_topic, took)


class ReceivingReplies:
    """Takes replies, and answers for each what became of it."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[Reply]) -> Sequence[Reception]:
        held = _locked(connection, {each.correlation_id for each in items})
        at = now(connection)
        verdicts = [
            held[each.correlation_id].take(each, at)
            if each.correlation_id in held
            else Reception(Received.UNMATCHED)
            for each in items
        ]
        taken = [each for each in held.values() if each.reply is not None]
        update_rows(connection, workflow_kafka_commands, [_row(each, at) for each in taken], ("id",))
        give(connection, [answer for each in taken for answer in _answers(each)])
        return verdicts


def _locked(connection: Connection, correlations: Collection[str]) -> dict[str, _Held]:
    """The commands, by their correlation ids, with their executions locked. They are read with a lock as
    well: a database may have begun to look before somebody else's change was there."""
    wanted = K.correlation_id.in_(sorted(correlations))
    found = set(connection.scalars(select(K.workflow_instance_id).where(wanted)))
    if not found:
        return {}
    lock_reached(connection, found, ("id", "status"))
    chosen = HELD.where(wanted).order_by(K.id).with_for_update()
    return {row.correlation_id: _Held(row) for row in connection.execute(chosen)}


def _row(held: _Held, at: datetime) -> dict[str, object]:
    reply, row = held.reply, held.row
    assert reply is not None, "asked only of those that have one"
    late = held.received is Received.LATE
    status, error, completed = row.status, row.error_message, row.completed_at
    if not late:
        status, error, completed = _status_by(reply).value, reply.error, at
    return {
        "id": row.id,
        "status": status,
        "error_message": error,
        "reply_payload": reply.payload,
        "reply_headers": reply.headers,
        "reply_received_at": at,
        "late": late,
        "completed_at": completed,
        "updated_at": at,
    }


def _status_by(reply: Reply) -> CommandStatus:
    return CommandStatus.REPLY_RECEIVED if reply.error is None else CommandStatus.ERROR


def _answers(held: _Held) -> Sequence[Answer]:
    """What the visit is told; who undoes something looks by itself."""
    reply = held.reply
    if reply is None or held.received is Received.LATE or held.row.compensates is not None:
        return []
    told: JsonObject = {
        "status": _status_by(reply).value,
        "reply": reply.payload,
        "headers": reply.headers,
    }
    if reply.error is not None:
        told["error"] = reply.error
    return [answer_of(held.row, told)]


class ReplyRepository:
    """`nodes.command_replies.Replies` on a database."""

    def __init__(self, database: Database, committer: GroupCommitter) -> None:
        self._database, self._committer = database, committer
        self._receiving = ReceivingReplies()

    async def receive(self, replies: Sequence[Reply]) -> Sequence[Reception]:
        submitted = [self._committer.submit(self._receiving, each, each.correlation_id) for each in replies]
        came = await asyncio.gather(*submitted, return_exceptions=True)
        if away := next((each for each in came if isinstance(each, TROUBLE)), None):
            raise NotWritten(str(away)) from away
        if wrong := next((each for each in came if isinstance(each, BaseException)), None):
            raise wrong
        return [each for each in came if not isinstance(each, BaseException)]

    async def expecting(self, correlations: Collection[str]) -> Mapping[str, Expecting]:
        known = sorted(each for each in correlations if is_storable(each, ID_LENGTH))
        if not known:
            return {}
        chosen = select(K.correlation_id, K.reply_topic, K.reply_schema).where(K.correlation_id.in_(known))
        rows = await self._read(lambda connection: connection.execute(chosen).all())
        return {row.correlation_id: Expecting(row.reply_topic, row.reply_schema) for row in rows}

    async def topics(self) -> Collection[ReplyTopic]:
        rows = await self._read(lambda connection: connection.execute(select(reply_topic)).all())
        return [ReplyTopic(row.topic, row.correlation_field, row.created_at) for row in rows]

    async def _read(self, work: Any) -> Any:
        try:
            return await self._database.read(work)
        except (*TROUBLE, DBAPIError) as away:
            raise NotWritten(str(away)) from away
