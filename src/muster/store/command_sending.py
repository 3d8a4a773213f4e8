"""Commands on their way: what became of their messages, and those that undo others."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Row, select, update
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError

from muster.engine.commands import BURIED, OPEN, REFERENCE, CommandStatus, times_out
from muster.engine.ports import Lost, NotWritten
from muster.model.json import JsonObject
from muster.nodes.commanding import Outbound
from muster.nodes.compensating import SentCommand
from muster.store.answers import give
from muster.store.commands import K, answer_of, note_sent, open_commands, time_out, timeout_of
from muster.store.committer import TROUBLE
from muster.store.database import Database, Work
from muster.store.dialect import lock_rows, now, update_rows
from muster.store.failures import reason
from muster.store.lock_order import lock_reached
from muster.store.outbox import add_messages
from muster.store.outbox_streams import Tell
from muster.store.tables import workflow_execution, workflow_kafka_commands

T = TypeVar("T")

TOLD_AT_ONCE = 500
NOT_PUBLISHED = "The command could not be published"
# What the bus has refused is marked, and stays open until its execution is told.
REFUSED = K.status == CommandStatus.REFUSED.value


class SendingObserver(Protocol):
    """Hears how many messages went to which topics: commands, and dead letters of commands."""

    def sent(self, topics: Mapping[str, int]) -> None: ...

    def buried(self, topics: Mapping[str, int]) -> None: ...


class CommandSenders:
    """`store.outbox_streams.Senders` of commands."""

    def __init__(self, observer: SendingObserver) -> None:
        self._observer = observer

    def published(self, connection: Connection, references: Sequence[str], at: datetime) -> Tell:
        sent = Counter(note_sent(connection, _commands_in(references), at))
        buried = Counter(_note_buried(connection, _commands_in(references, BURIED), at))

        def tell() -> None:
            if sent:
                self._observer.sent(sent)
            if buried:
                self._observer.buried(buried)

        return tell

    def refused(self, connection: Connection, reasons: Mapping[str, str], at: datetime) -> None:
        """Only mark them: executions come first in the order of locks."""
        if ids := _commands_in(reasons):
            pending = (K.id.in_(sorted(ids)), K.status == CommandStatus.PENDING.value)
            found = select(K.id).where(*pending).order_by(K.id).with_for_update()
            rows = [_refused_row(each, reasons[REFERENCE + each], at) for each in connection.scalars(found)]
            update_rows(connection, workflow_kafka_commands, rows, ("id",))


def _note_buried(connection: Connection, ids: Sequence[str], at: datetime) -> Sequence[str]:
    """The bus has the dead letters of these commands. Answers their topics."""
    if not ids:
        return []
    chosen = select(K.id, K.dlq_topic).where(K.id.in_(sorted(ids)), K.dlq_topic.is_not(None))
    rows = connection.execute(chosen.order_by(K.id).with_for_update()).all()
    update_rows(
        connection, workflow_kafka_commands, [{"id": row.id, "dlq_sent_at": at} for row in rows], ("id",)
    )
    return [row.dlq_topic for row in rows]


def _refused_row(command_id: str, reason: str, at: datetime) -> dict[str, object]:
    return {
        "id": command_id,
        "status": CommandStatus.REFUSED.value,
        "error_message": f"{NOT_PUBLISHED}: {reason}",
        "updated_at": at,
    }


def _commands_in(references: Iterable[str], kind: str = REFERENCE) -> list[str]:
    return [each.removeprefix(kind) for each in references if each.startswith(kind)]


class RefusedCommands:
    """Tells executions of commands that the bus has refused."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tell(self) -> int:
        """Tell some, and say how many. Raises `NotWritten`."""
        try:
            return await self._database.write(tell_refused)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away


def tell_refused(connection: Connection) -> int:
    chosen = select(K.id, K.workflow_instance_id).where(REFUSED).order_by(K.id).limit(TOLD_AT_ONCE)
    found = {row.id: row.workflow_instance_id for row in connection.execute(chosen)}
    if not found:
        return 0
    lock_reached(connection, set(found.values()), ("id", "status"))
    mine = select(workflow_kafka_commands).where(K.id.in_(sorted(found)), REFUSED).order_by(K.id)
    rows = connection.execute(mine.with_for_update()).all()
    at = now(connection)
    over = {"status": CommandStatus.ERROR.value, "completed_at": at, "updated_at": at}
    refused = update(workflow_kafka_commands).where(K.id.in_([row.id for row in rows]))
    connection.execute(refused.values(over))
    told: JsonObject = {"status": CommandStatus.ERROR.value, "refused": True}
    give(
        connection,
        [answer_of(row, {**told, "error": row.error_message}) for row in rows if row.compensates is None],
    )
    return len(rows)


class SentCommandRepository:
    """`nodes.compensating.SentCommands` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_visit(self, execution_id: str, node: str, visit: int) -> SentCommand | None:
        mine = (K.workflow_instance_id == execution_id, K.step_id == node, K.visit == visit)
        chosen = select(workflow_kafka_commands).where(*mine, K.compensates.is_(None))
        last = chosen.order_by(K.created_at.desc(), K.attempt.desc()).limit(1)
        row = await self._read(lambda connection: connection.execute(last).first())
        return None if row is None else _sent(row)

    async def send(self, execution_id: str, fence: int, outbound: Outbound) -> SentCommand:
        def work(connection: Connection) -> Row[Any] | None:
            locked = lock_rows(connection, workflow_execution, "id", [execution_id], ("id", "fence"))
            if [row.fence for row in locked] != [fence]:
                return None
            if open_commands(connection, [(execution_id, outbound.opening)]):
                add_messages(connection, [outbound.message])
            return _row(connection, outbound.opening.id)

        row = await self._write(work)
        if row is None:
            raise Lost(f"execution {execution_id} is another's")
        return _sent(row)

    async def look(self, command_id: str) -> SentCommand:
        row, at = await self._read(lambda connection: (_row(connection, command_id), now(connection)))
        if not _is_over(row, at):
            return _sent(row)
        return _sent(await self._write(lambda connection: _expired(connection, command_id)))

    async def _write(self, work: Work[T]) -> T:
        """Also a statement that fails for want of a disk, say, may go through later: who undoes something
        has no other chance."""
        try:
            return await self._database.write(work)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
        except (DataError, IntegrityError, ProgrammingError):
            raise  # it would fail again and again
        except DBAPIError as failed:
            raise NotWritten(reason(failed)) from failed

    async def _read(self, work: Work[T]) -> T:
        try:
            return await self._database.read(work)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
        except DBAPIError as failed:
            raise NotWritten(reason(failed)) from failed


def _is_over(row: Row[Any], at: datetime) -> bool:
    status = CommandStatus(row.status)
    return status in OPEN and times_out(status, row.timeout_at, timeout_of(row.timeout_ms), at) is None


def _expired(connection: Connection, command_id: str) -> Row[Any]:
    """How it stands, once its time is over. A reply may have been faster."""
    at = now(connection)
    chosen = select(workflow_kafka_commands).where(K.id == command_id).with_for_update()
    if _is_over(connection.execute(chosen).one(), at):
        time_out(connection, [command_id], at)
    return _row(connection, command_id)


def _row(connection: Connection, command_id: str) -> Row[Any]:
    return connection.execute(select(workflow_kafka_commands).where(K.id == command_id)).one()


def _sent(row: Row[Any]) -> SentCommand:
    return SentCommand(
        id=row.id,
        correlation_id=row.correlation_id,
        command_topic=row.command_topic,
        reply_topic=row.reply_topic,
        status=CommandStatus(row.status),
        reply=row.reply_payload,
        error=row.error_message,
    )
