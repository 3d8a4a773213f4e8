"""Dead letters of commands: as they were sent, in a topic, and with what is wrong among the others."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from muster.engine.bus import ERROR_MESSAGE, ERROR_TIMESTAMP, ERROR_TYPE, ORIGINAL_TOPIC, Headers
from muster.engine.commands import BURIED, CommandLetter
from muster.engine.letters import LetterKind, LetterStatus
from muster.engine.outbox import OutgoingMessage
from muster.kit.ids import derived_id
from muster.model.json import Json, JsonObject
from muster.store.dialect import insert_rows, update_rows
from muster.store.message_letters import readable
from muster.store.outbox import add_messages
from muster.store.tables import dead_letter, workflow_kafka_commands

K = workflow_kafka_commands.c
# A header is read by people, and counts towards the size of a message.
LONGEST_REASON = 1_000


def write_command_letters(connection: Connection, letters: Sequence[CommandLetter], at: datetime) -> None:
    """Bury these commands, in a topic by way of the outbox and as rows. One that was buried before stays as
    it is."""
    if not letters:
        return
    found = select(workflow_kafka_commands).where(K.id.in_(sorted({each.id for each in letters})))
    rows = {row.id: row for row in connection.execute(found)}
    fresh = [each for each in letters if each.id in rows and rows[each.id].dlq_topic is None]
    attempts = _attempts(connection, [rows[each.id] for each in fresh])
    add_messages(connection, [_message(each, rows[each.id], at) for each in fresh])
    kept = [_row(each, rows[each.id], attempts[each.id], at) for each in fresh]
    insert_rows(connection, dead_letter, kept)
    # When it is there is known once the bus has it.
    buried = [{"id": each.id, "dlq_topic": each.topic} for each in fresh]
    update_rows(connection, workflow_kafka_commands, buried, ("id",))


def _attempts(connection: Connection, rows: Sequence[Row[Any]]) -> Mapping[str, list[Json]]:
    """What became of the attempts at each of these visits, by the last one's id."""
    executions = sorted({row.workflow_instance_id for row in rows})
    chosen = select(
        K.workflow_instance_id, K.step_id, K.visit, K.attempt, K.correlation_id, K.error_message
    ).where(K.workflow_instance_id.in_(executions), K.compensates.is_(None))
    found: dict[tuple[str, str, int], list[Json]] = {}
    for each in connection.execute(chosen.order_by(K.created_at, K.id)) if rows else ():
        told: JsonObject = {
            "attempt": each.attempt,
            "correlationId": each.correlation_id,
            "message": each.error_message,
        }
        found.setdefault((each.workflow_instance_id, each.step_id, each.visit), []).append(told)
    return {row.id: found.get((row.workflow_instance_id, row.step_id, row.visit), []) for row in rows}


def _message(letter: CommandLetter, row: Row[Any], at: datetime) -> OutgoingMessage:
    told: Headers = (
        (ERROR_MESSAGE, letter.message[:LONGEST_REASON].encode()),
        (ERROR_TIMESTAMP, at.isoformat().encode()),
        (ERROR_TYPE, letter.type.encode()),
        (ORIGINAL_TOPIC, row.command_topic.encode()),
    )
    own = tuple((name, str(value).encode()) for name, value in (row.command_headers or {}).items())
    return OutgoingMessage(
        id=derived_id(row.id, "dead letter"),
        topic=letter.topic,
        value=row.command_value,
        key=row.command_key,
        headers=(*own, *told),
        reference=f"{BURIED}{row.id}",
        institute_id=row.institute_id,
    )


def _row(letter: CommandLetter, row: Row[Any], attempts: list[Json], at: datetime) -> dict[str, object]:
    value: JsonObject = {
        "commandId": row.id,
        "executionId": row.workflow_instance_id,
        "nodeId": row.step_id,
        "topic": letter.topic,
    }
    if row.command_key is not None:
        value["key"] = readable(row.command_key)
    if row.command_value is not None:
        value["value"] = readable(row.command_value)
    return {
        "kind": LetterKind.COMMAND.value,
        "source": row.command_topic,
        "key": row.correlation_id,
        "value": value,
        "headers": row.command_headers,
        "error_type": letter.type,
        "error_message": letter.message,
        "attempts": attempts,
        "status": LetterStatus.OPEN.value,
        "institute_id": row.institute_id,
        "created_at": at,
        "resolved_at": None,
    }
