"""The ledger of near misses: events that named something known, and were not accepted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from muster.engine.event_waits import Arrived, NearMiss, Refusal, Refused
from muster.engine.state import FINAL
from muster.model.text import made_suitable
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.expired import ExpiredRows
from muster.store.tables import ID_LENGTH, NAME_LENGTH, near_miss, workflow_execution
from muster.store.types import is_storable

N = near_miss.c
E = workflow_execution.c
# Of one wait, or of one execution that has none. The rest is counted.
MOST_OF_A_WAIT = 100
KEPT_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Missed:
    """An event that was not accepted, and the wait that it came closest to, if there is one."""

    event: Arrived
    refused: Refused
    institute_id: str
    wait_id: str | None = None


def keep_missed(connection: Connection, missed: Sequence[Missed], at: datetime) -> None:
    insert_rows(connection, near_miss, [_row(each, at) for each in missed if each.refused.near is not None])


def unmatched(connection: Connection, lost: Sequence[Arrived]) -> list[Missed]:
    """Of events for which there is no wait, those whose execution is known: it does not wait yet, or never
    will."""
    ids = sorted({each.execution_id for each in lost if is_storable(each.execution_id, ID_LENGTH)})
    if not ids:
        return []
    known = connection.execute(select(E.id, E.status, E.institute_id).where(E.id.in_(ids))).all()
    executions = {row.id: row for row in known}
    if not executions:
        return []
    count = select(N.execution_id, func.count()).where(
        N.execution_id.in_(sorted(executions)), N.wait_id.is_(None)
    )
    kept = Counter({row[0]: row[1] for row in connection.execute(count.group_by(N.execution_id))})
    missed = []
    for each in lost:
        execution = executions.get(each.execution_id)
        if execution is not None and kept[execution.id] < MOST_OF_A_WAIT:
            kept[execution.id] += 1
            near = NearMiss.LATE if execution.status in FINAL else NearMiss.EARLY
            missed.append(Missed(each, Refused(Refusal.NOT_WAITING, near), execution.institute_id))
    return missed


def old_near_misses(database: Database) -> ExpiredRows:
    return ExpiredRows(database, N.id, N.received_at, KEPT_FOR)


def _row(missed: Missed, at: datetime) -> dict[str, object]:
    event, refused = missed.event, missed.refused
    return {
        "source": event.source.value,
        "topic": event.topic,
        "execution_id": _shown(event.execution_id),
        "correlation_id": _shown(event.correlation_id),
        "reason": refused.near.value if refused.near else "",
        "payload": event.data,
        "received_at": at,
        "event": refused.name or event.name,
        "wait_id": missed.wait_id,
        "institute_id": missed.institute_id,
        "trace_parent": event.trace,
    }


def _shown(text: str) -> str:
    """An id as it was sent, as far as a column holds it: it may be anything."""
    if is_storable(text, NAME_LENGTH):
        return text
    shown = made_suitable(text)
    return shown if len(shown) <= NAME_LENGTH else f"{shown[: NAME_LENGTH - 1]}…"
