"""Commands: opened with the journal row that says that their node waits, closed when nobody waits any more.

Whoever opens, answers, expires or closes one has locked the row of its execution. Who publishes its message
has not: that changes only when it was sent, and from `PENDING`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, or_, select, update

from muster.engine.commands import (
    OPEN,
    CommandFailed,
    CommandLetter,
    CommandOpening,
    CommandStatus,
    timed_out,
    times_out,
)
from muster.engine.journal import MORE_TIME
from muster.engine.openings import Closing, Opening
from muster.model.json import JsonObject
from muster.store.among import Among, run_among
from muster.store.answers import Answer, give
from muster.store.command_letters import write_command_letters
from muster.store.dialect import insert_new, now, update_rows
from muster.store.tables import reply_topic, workflow_kafka_commands

K = workflow_kafka_commands.c
UNSENT = Among(
    K.id,
    lambda these: (
        select(K.id, K.command_topic, K.timeout_ms, K.status)
        .where(these, K.sent_at.is_(None))
        .order_by(K.id)
        .with_for_update()
    ),
)
# What waits for a reply, or for the bus.
IS_OPEN = K.status.in_(sorted(OPEN))


def write_commands(connection: Connection, opened: Sequence[tuple[str, Opening]]) -> None:
    """Open commands, note that replies were errors, and bury what came to nothing: all executions' at
    once."""
    openings = [(execution, each) for execution, each in opened if isinstance(each, CommandOpening)]
    failed = [each for _, each in opened if isinstance(each, CommandFailed)]
    letters = [each for _, each in opened if isinstance(each, CommandLetter)]
    open_commands(connection, openings)
    at = now(connection) if failed or letters else None
    update_rows(connection, workflow_kafka_commands, [_failed_row(each, at) for each in failed], ("id",))
    if at is not None:
        write_command_letters(connection, letters, at)


def open_commands(connection: Connection, openings: Sequence[tuple[str, CommandOpening]]) -> set[str]:
    """Keep these, and say which are new, by their correlation ids: those that are there were written by a
    commit whose answer got lost, or by who went down since."""
    if not openings:
        return set()
    topics = {(each.reply_topic, each.correlation_field): each.created_at for _, each in openings}
    known = [
        {"topic": topic, "correlation_field": field, "created_at": topics[topic, field]}
        for topic, field in sorted(topics)
    ]
    insert_new(connection, reply_topic, known, ("topic", "correlation_field"))
    rows = [_row(execution, each) for execution, each in openings]
    fresh = insert_new(connection, workflow_kafka_commands, rows, ("correlation_id",))
    return {correlation for (correlation,) in fresh}


def _row(execution_id: str, opening: CommandOpening) -> dict[str, object]:
    return {
        "id": opening.id,
        "workflow_instance_id": execution_id,
        "step_id": opening.node,
        "visit": opening.visit,
        "attempt": opening.attempt,
        "workflow_id": opening.workflow_id,
        "institute_id": opening.institute_id,
        "correlation_id": opening.correlation_id,
        "compensates": opening.compensates,
        "command_topic": opening.command_topic,
        "command_payload": opening.payload,
        "command_headers": opening.headers,
        "command_key": opening.key,
        "command_value": opening.value,
        "reply_topic": opening.reply_topic,
        "reply_schema": opening.reply_schema,
        "late": False,
        "timeout_ms": int(opening.timeout / timedelta(milliseconds=1)),
        "status": CommandStatus.PENDING.value,
        "created_at": opening.created_at,
        "updated_at": opening.created_at,
    }


def _failed_row(failed: CommandFailed, at: datetime | None) -> dict[str, object]:
    return {
        "id": failed.id,
        "status": CommandStatus.ERROR.value,
        "error_message": failed.message,
        "updated_at": at,
    }


# --- closing -------------------------------------------------------------------------------------------


def close_commands(connection: Connection, execution_id: str, closing: Closing) -> None:
    """Nobody waits for what these visits wait for."""
    if not closing.visits:
        return
    at = now(connection)
    over = {
        "status": CommandStatus.CANCELLED.value,
        "error_message": closing.reason,
        "completed_at": at,
        "updated_at": at,
    }
    connection.execute(update(workflow_kafka_commands).where(*_waiting(execution_id, closing)).values(over))


def expire_commands(connection: Connection, execution_id: str, closing: Closing, at: datetime) -> None:
    """The time of these visits is over, unless it was counted from before the bus had the command: then they
    are told how much more they have."""
    chosen = select(workflow_kafka_commands).where(*_waiting(execution_id, closing)).order_by(K.id)
    rows = connection.execute(chosen.with_for_update()).all()
    answers, late = [], []
    for row in rows:
        until = times_out(CommandStatus(row.status), row.timeout_at, timeout_of(row.timeout_ms), at)
        if until is None:
            late.append(row.id)
            error = timed_out(timeout_of(row.timeout_ms))
            answers.append(answer_of(row, {"status": CommandStatus.TIMEOUT.value, "error": error}))
        else:
            answers.append(answer_of(row, {MORE_TIME: until.isoformat()}))
    time_out(connection, late, at)
    give(connection, answers)


def time_out(connection: Connection, ids: Sequence[str], at: datetime) -> None:
    """Mark open commands, which are locked, as having run out."""
    if not ids:
        return
    found = select(K.id, K.timeout_ms).where(K.id.in_(ids))
    rows = [
        {
            "id": row.id,
            "status": CommandStatus.TIMEOUT.value,
            "error_message": timed_out(timeout_of(row.timeout_ms)),
            "completed_at": at,
            "updated_at": at,
        }
        for row in connection.execute(found)
    ]
    update_rows(connection, workflow_kafka_commands, rows, ("id",))


def answer_of(row: Row[Any], told: JsonObject) -> Answer:
    named: JsonObject = {
        "commandId": row.id,
        "correlationId": row.correlation_id,
        "commandTopic": row.command_topic,
        "replyTopic": row.reply_topic,
    }
    return Answer(row.workflow_instance_id, row.step_id, row.visit, row.correlation_id, {**named, **told})


def timeout_of(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def visits_awaiting_replies(connection: Connection, execution_id: str) -> set[tuple[str, int]]:
    """The visits of an execution that wait for replies."""
    opened = select(K.step_id, K.visit).where(K.workflow_instance_id == execution_id, IS_OPEN)
    return {(row.step_id, row.visit) for row in connection.execute(opened)}


def _waiting(execution_id: str, closing: Closing) -> tuple[Any, ...]:
    """What undoes something has its own time."""
    visits = or_(*(and_(K.step_id == node, K.visit == visit) for node, visit in closing.visits))
    return (K.workflow_instance_id == execution_id, visits, IS_OPEN, K.compensates.is_(None))


# --- on the bus ----------------------------------------------------------------------------------------


def note_sent(connection: Connection, ids: Sequence[str], at: datetime) -> Sequence[str]:
    """The bus has the messages of these commands: their time counts from now on. Answers their topics. A
    reply may have been faster."""
    if not ids:
        return []
    rows: Sequence[Any] = run_among(connection, UNSENT, ids).all()
    sent = [
        {"id": each, "sent_at": at, "timeout_at": at + timeout_of(timeout), "status": _once_sent(status)}
        for each, _, timeout, status in rows
    ]
    update_rows(connection, workflow_kafka_commands, [{**row, "updated_at": at} for row in sent], ("id",))
    return [topic for _, topic, _, _ in rows]


def _once_sent(status: str) -> str:
    return CommandStatus.SENT.value if status == CommandStatus.PENDING.value else status
