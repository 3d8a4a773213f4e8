"""Answers to executions that wait, written in the transaction of what gives them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, update

from muster.engine.journal import SignalKind
from muster.engine.state import ExecutionStatus
from muster.model.json import Json, JsonObject
from muster.store.dialect import insert_rows, now
from muster.store.large_values import OF_SIGNALS, Laying
from muster.store.tables import execution_signal, workflow_execution
from muster.store.wake_ups import wake_owners

E = workflow_execution.c
# What may be taken up when it is due and nobody owns it: what is parked, what was handed on, and what was
# started by an instance that drives nothing. (What is queued has to wait for its turn.)
FREE_TO_TAKE = (
    ExecutionStatus.PAUSED,
    ExecutionStatus.WAITING,
    ExecutionStatus.RUNNING,
    ExecutionStatus.RESUMING,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a visit waits for. Its execution's row is locked by whoever answers, so it is either parked, and
    due from now on, or its owner finds the answer before it parks."""

    execution_id: str
    node: str
    visit: int
    correlation: str
    answer: Json

    def payload(self) -> JsonObject:
        named: JsonObject = {"node": self.node, "visit": self.visit, "answer": self.answer}
        return {**named, "correlation": self.correlation} if self.correlation else named


def give(connection: Connection, answers: Sequence[Answer]) -> None:
    """Let answers reach their executions."""
    signals = [(each.execution_id, SignalKind.ANSWER, each.payload()) for each in answers]
    reach(connection, signals)


def reach(connection: Connection, signals: Sequence[tuple[str, SignalKind, JsonObject]]) -> None:
    """Keep signals for executions, which the caller has locked, and make those due that are parked."""
    if not signals:
        return
    at = now(connection)
    laying = Laying(OF_SIGNALS)
    rows = [_row(laying, at, *signal) for signal in signals]
    laying.write(connection)
    insert_rows(connection, execution_signal, rows)
    ids = sorted({execution_id for execution_id, _, _ in signals})
    parked = update(workflow_execution).where(E.id.in_(ids), E.owner.is_(None), E.status.in_(FREE_TO_TAKE))
    if connection.execute(parked.values(resume_at=at)).rowcount < len(ids):
        wake_owners(connection, ids)


def _row(
    laying: Laying, at: datetime, execution_id: str, kind: SignalKind, payload: JsonObject
) -> dict[str, object]:
    row: dict[str, object] = {"execution_id": execution_id, "kind": kind.value, "created_at": at}
    if kind is SignalKind.ANSWER:
        return laying.row(execution_id, row, {"payload": payload})
    return {**row, "payload": payload, "aside": None}
