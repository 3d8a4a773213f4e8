"""Replies to commands: stored, and the executions that wait for them claimed.

That is one transaction for a whole batch, under the locks of the executions concerned: of any number of
replies to a command one is stored, and of a reply and the timeout one wins.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Row, Select, Text, any_, bindparam, exists, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError

from muster.engine.commands import (
    CommandStatus,
    Received,
    Reception,
    Reply,
    received_by,
)
from muster.engine.finishing import Finished
from muster.engine.owned import OwnedExecution
from muster.engine.ports import NotWritten
from muster.engine.taker import Taker
from muster.engine.tracing import Waiter
from muster.model.json import JsonObject
from muster.nodes.reply_names import Expecting, ReplyTopic
from muster.store.among import Among, run_among
from muster.store.answers import Answer
from muster.store.commands import IS_OPEN, K, answer_of
from muster.store.committer import TROUBLE, GroupCommitter, Locks
from muster.store.database import CLOCK, Database, LookAgain, Work
from muster.store.dialect import now, update_rows, utc_now
from muster.store.finishing import Finish, finish_answered, write_finished
from muster.store.limits import QUEUED
from muster.store.lock_order import lock_begun, lock_reached
from muster.store.resuming import HandingOver, all_written, resume
from muster.store.tables import ID_LENGTH, reply_topic, workflow_execution, workflow_kafka_commands
from muster.store.types import is_storable

T = TypeVar("T")
E = workflow_execution.c
FOUND: Select[Any] = select(K.workflow_instance_id, E.status, E.trace_parent).outerjoin(
    workflow_execution, E.id == K.workflow_instance_id
)
# Made once, for any number of replies: to make a statement takes longer than to run it.
BY_CORRELATION = Among(K.correlation_id, lambda named: FOUND.where(named))
COLUMNS = (
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
HELD = Among(
    K.correlation_id,
    lambda named: select(*COLUMNS, utc_now().label("clock")).where(named).order_by(K.id).with_for_update(),
)


def _known_and_held() -> Select[Any]:
    """On PostgreSQL: the commands of some correlations, in one statement: their executions are locked first,
    in the order of those, then they are, in theirs (who publishes them locks them so, and no execution).
    Nothing is given, and nothing locked, unless all are known and none of the executions is queued: else more
    has to be looked up before."""
    wanted = bindparam("wanted", type_=ARRAY(Text()))
    is_wanted = K.correlation_id == any_(wanted)
    found = (
        select(K.workflow_instance_id, E.status)
        .join(workflow_execution, E.id == K.workflow_instance_id)
        .where(is_wanted)
        .cte("found")
    )
    are_known = select(func.count()).select_from(found).scalar_subquery() == func.cardinality(wanted)
    held = (
        select(E.id, E.status, E.trace_parent)
        .where(E.id.in_(select(found.c.workflow_instance_id)))
        .where(are_known, ~exists().where(found.c.status == QUEUED))
        .order_by(E.id)
        .with_for_update()
        .cte("held")
    )
    return (
        select(
            held.c.status.label("execution_status"), held.c.trace_parent, *COLUMNS, utc_now().label("clock")
        )
        .join_from(workflow_kafka_commands, held, held.c.id == K.workflow_instance_id)
        .where(is_wanted)
        .order_by(K.id)
        .with_for_update(of=workflow_kafka_commands)
    )


KNOWN_AND_HELD = _known_and_held()
EXPECTING = Among(
    K.correlation_id, lambda named: select(K.correlation_id, K.reply_topic, K.reply_schema).where(named)
)


@dataclass(slots=True)
class _Held:
    """A command that is locked, and the reply that this batch has for it."""

    row: Row[Any]
    trace: str | None = None
    reply: Reply | None = None
    received: Received | None = None

    def take(self, reply: Reply, at: datetime) -> Reception:
        has_reply = self.row.reply_received_at is not None or self.reply is not None
        verdict = received_by(CommandStatus(self.row.status), has_reply, self.row.reply_topic, reply.topic)
        if verdict in (Received.ACCEPTED, Received.LATE):
            self.reply, self.received = reply, verdict
        took = None if self.row.sent_at is None else at - self.row.sent_at
        row = self.row
        waiter = Waiter(row.workflow_instance_id, row.step_id, row.visit, self.trace)
        return Reception(verdict, row.command_topic, took, waiter=waiter)


class Brought(NamedTuple):
    """A reply, and the owner for whom the execution is to be claimed that goes on with it; None: nobody."""

    reply: Reply
    owner: str | None = None


class Stored(NamedTuple):
    """What became of a reply, and the execution that was claimed with it, or has come to its end."""

    reception: Reception
    owned: OwnedExecution | None = None
    finished: Finished | None = None


class ReceivingReplies:
    """Takes replies, answers for each what became of it, and claims the executions that go on with them.
    What ends with its reply is written as it ended."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def __init__(self, lease: timedelta, finish: Finish) -> None:
        self._lease, self._finish = lease, finish

    def write(self, connection: Connection, items: Sequence[Brought]) -> Sequence[Stored]:
        held = _locked(connection, {item.reply.correlation_id for item in items})
        at = now(connection)
        came = [_taken(held.get(item.reply.correlation_id), item.reply, at) for item in items]
        taken = [each for each in held.values() if each.reply is not None]
        update_rows(connection, workflow_kafka_commands, [_row(each, at) for each in taken], ("id",))
        answers = [answer for each in taken for answer in _answers(each)]
        meant = [(held.get(item.reply.correlation_id), item.owner) for item in items]
        owners = {each.row.workflow_instance_id: owner for each, owner in meant if each is not None}
        ours = [answer for answer in answers if owners[answer.execution_id] is not None]
        finished = finish_answered(connection, ours, at, self._finish)
        write_finished(connection, finished, owners, at)
        left = [answer for answer in answers if answer.execution_id not in finished]
        owned = resume(connection, left, owners, self._lease)
        return [_stored(each, mine, owned, finished) for each, (mine, _) in zip(came, meant, strict=True)]


def _taken(held: _Held | None, reply: Reply, at: datetime) -> Reception:
    return Reception(Received.UNMATCHED) if held is None else held.take(reply, at)


def _stored(
    reception: Reception,
    held: _Held | None,
    owned: dict[str, OwnedExecution],
    finished: dict[str, Finished],
) -> Stored:
    """Each execution goes with one reply."""
    if held is None or reception.received is not Received.ACCEPTED:
        return Stored(reception)
    execution = held.row.workflow_instance_id
    mine, done = owned.pop(execution, None), finished.pop(execution, None)
    return Stored(reception._replace(is_taken_up=bool(mine or done)), mine, done)


def _locked(connection: Connection, correlations: Collection[str]) -> dict[str, _Held]:
    """The commands, by their correlation ids, with their executions locked. They are read with a lock as
    well: a database may have begun to look before somebody else's change was there."""
    if connection.dialect.name == "postgresql" and (at_once := _held_at_once(connection, correlations)):
        return _held(connection, at_once, {row.workflow_instance_id: row.trace_parent for row in at_once})
    found = run_among(connection, BY_CORRELATION, correlations).all()
    if not found:
        return {}
    executions = {row.workflow_instance_id for row in found}
    if any(row.status == QUEUED for row in found):
        lock_reached(connection, executions, ("id", "status"))
    else:
        lock_begun(connection, executions)
    rows = run_among(connection, HELD, correlations).all()
    return _held(connection, rows, {row.workflow_instance_id: row.trace_parent for row in found})


def _held_at_once(connection: Connection, correlations: Collection[str]) -> Sequence[Row[Any]]:
    """All of the commands, locked; none, where something about them is unusual. Raises `LookAgain`."""
    rows = connection.execute(KNOWN_AND_HELD, {"wanted": sorted(correlations)}).all()
    if rows and (len(rows) < len(correlations) or any(row.execution_status == QUEUED for row in rows)):
        raise LookAgain("an execution was queued, or is gone, in between")
    return rows


def _held(
    connection: Connection, rows: Sequence[Row[Any]], traces: Mapping[str, str | None]
) -> dict[str, _Held]:
    # Under the locks: whoever asks for the time next is told this one, and need not go and ask.
    connection.info[CLOCK] = max((row.clock for row in rows), default=None)
    return {row.correlation_id: _Held(row, traces.get(row.workflow_instance_id)) for row in rows}


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
    """`nodes.command_replies.Replies` on a database. Executions are claimed for the `taker`, if there is
    one."""

    def __init__(
        self, database: Database, committer: GroupCommitter, lease: timedelta, taker: Taker | None = None
    ) -> None:
        self._database, self._committer, self._handing = database, committer, HandingOver()
        self._receiving = ReceivingReplies(lease, self._handing.finish)
        if taker is not None:
            self._handing.hand_to(taker)

    async def receive(self, replies: Sequence[Reply]) -> Sequence[Reception]:
        return [each.reception for each in await all_written(list(map(self._submit, replies)))]

    def _submit(self, reply: Reply) -> "asyncio.Future[Stored]":
        brought = Brought(reply, self._handing.owner)
        submitted = self._handing.submit(self._committer, self._receiving, brought, reply.correlation_id)
        submitted.add_done_callback(self._handing.tell_finished)
        return submitted

    async def expecting(self, correlations: Collection[str]) -> Mapping[str, Expecting]:
        known = sorted(each for each in correlations if is_storable(each, ID_LENGTH))
        if not known:
            return {}
        rows = await self._read(lambda connection: run_among(connection, EXPECTING, known).all())
        return {row.correlation_id: Expecting(row.reply_topic, row.reply_schema) for row in rows}

    async def schemas(self, topics: Collection[str]) -> Mapping[str, Sequence[JsonObject]]:
        mine = (K.reply_topic.in_(sorted(topics)), IS_OPEN, K.reply_schema.is_not(None))
        chosen = select(K.reply_topic, K.reply_schema).where(*mine).distinct()
        found: dict[str, list[JsonObject]] = {}
        for row in await self._read(lambda connection: connection.execute(chosen).all()):
            found.setdefault(row.reply_topic, []).append(row.reply_schema)
        return found

    async def topics(self) -> Collection[ReplyTopic]:
        rows = await self._read(lambda connection: connection.execute(select(reply_topic)).all())
        return [ReplyTopic(row.topic, row.correlation_field, row.created_at) for row in rows]

    async def _read(self, work: Work[T]) -> T:
        try:
            return await self._database.read(work, single=True)
        except (*TROUBLE, DBAPIError) as away:
            raise NotWritten(str(away)) from away
