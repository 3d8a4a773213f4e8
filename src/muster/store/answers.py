"""Answers to executions that wait, written in the transaction of what gives them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, update

from muster.engine.journal import SignalKind
from muster.engine.state import ExecutionStatus
from muster.model.json import Json, JsonObject
from muster.store.among import Among, run_among
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
PARKED = Among(
    E.id,
    lambda these: (
        update(workflow_execution)
        # Said so that the index of statuses does not seem to help.
        .where(these, E.owner.is_(None), E.status.not_in(sorted(set(ExecutionStatus) - set(FREE_TO_TAKE))))
        .values(resume_at=bindparam("due"))
    ),
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
    reach(connection, signals_of_answers(answers))


def signals_of_answers(answers: Sequence[Answer]) -> list[tuple[str, SignalKind, JsonObject]]:
    return [(each.execution_id, SignalKind.ANSWER, each.payload()) for each in answers]


def reach(connection: Connection, signals: Sequence[tuple[str, SignalKind, JsonObject]]) -> None:
    """Keep signals for executions, which the caller has locked, and make those due that are parked."""
    keep(connection, signals)
    make_due(connection, {execution_id for execution_id, _, _ in signals})


def keep(connection: Connection, signals: Sequence[tuple[str, SignalKind, JsonObject]]) -> None:
    """Keep signals for executions: each is made due, or taken up, in the same transaction."""
    if not signals:
        return
    at = now(connection)
    laying = Laying(OF_SIGNALS)
    rows = [_row(laying, at, *signal) for signal in signals]
    laying.write(connection)
    insert_rows(connection, execution_signal, rows)


def make_due(connection: Connection, ids: Collection[str]) -> None:
    """Let those that are parked be taken up, and the owners of the others look."""
    if not ids:
        return
    if run_among(connection, PARKED, ids, due=now(connection)).rowcount < len(ids):
        wake_owners(connection, sorted(ids))


def _row(
    laying: Laying, at: datetime, execution_id: str, kind: SignalKind, payload: JsonObject
) -> dict[str, object]:
    row: dict[str, object] = {"execution_id": execution_id, "kind": kind.value, "created_at": at}
    if kind is SignalKind.ANSWER:
        return laying.row(execution_id, row, {"payload": payload})
    return {**row, "payload": payload, "aside": None}
