"""Executions that end with the answer that reaches them: read as if they were claimed, and written as they
ended, in the transaction of the answer."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, exists, literal, select

from muster.engine.finishing import Finished
from muster.engine.journal import Signal, SignalKind
from muster.engine.owned import OwnedExecution
from muster.engine.state import ExecutionStatus
from muster.kit.clock import passed
from muster.store.among import Among, run_among
from muster.store.answers import Answer
from muster.store.claims import OWNED, UNOWNED, E, J, S, owned_of
from muster.store.dialect import update_rows, upsert
from muster.store.execution_rows import checkpoint_row
from muster.store.journal import KEY, new_journal
from muster.store.large_values import OF_EXECUTIONS, OF_JOURNAL, Laying
from muster.store.tables import execution_signal, node_execution, workflow_execution

Finish: TypeAlias = Callable[[OwnedExecution], Finished | None]
# For so long it is computed while rows are locked: the others are claimed, and driven afterwards.
SECONDS = 0.5
# The answer is not among what is stored, so its number is nobody's.
UNNUMBERED = 0


def _as_claimed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """As whoever claims it would find it."""
    if column.name == "fence":
        return (E.fence + 1).label("fence")
    if column.name == "status":
        return literal(ExecutionStatus.RESUMING.value).label("status")
    return column


# Where nothing is known of it but its checkpoint: nothing else has reached it, and nothing was written since.
RESTING = Among(
    E.id,
    lambda these: select(*map(_as_claimed, OWNED)).where(
        these,
        UNOWNED,
        E.status == ExecutionStatus.WAITING.value,
        ~exists().where(S.execution_id == E.id).select_from(execution_signal),
        ~exists().where(J.execution_id == E.id, J.seq > E.checkpoint_seq).select_from(node_execution),
    ),
)


def finish_answered(
    connection: Connection, answers: Sequence[Answer], at: datetime, finish: Finish
) -> dict[str, Finished]:
    """Those of the answered executions, which are locked, that end by computing, by their ids. Nothing is
    written of them yet."""
    if not answers or not _is_on_the_loop():
        return {}
    times = Counter(each.execution_id for each in answers)
    alone = {each.execution_id: each for each in answers if times[each.execution_id] == 1}
    finished: dict[str, Finished] = {}
    until = passed() + SECONDS
    for row in run_among(connection, RESTING, alone.keys()):
        if passed() > until:
            break
        answer = Signal(UNNUMBERED, SignalKind.ANSWER, alone[row.id].payload())
        if (done := finish(replace(owned_of(row, (), (answer,)), claimed_at=at))) is not None:
            finished[row.id] = done
    return finished


def write_finished(
    connection: Connection, finished: Mapping[str, Finished], owners: Mapping[str, str | None], at: datetime
) -> None:
    """Write them as they ended."""
    if not finished:
        return
    journals, laying = Laying(OF_JOURNAL), Laying(OF_EXECUTIONS)
    journal = [row for each in finished.values() for row in new_journal(journals, each.id, each.ended.rows)]
    rows = [
        {
            **checkpoint_row(laying, each.id, each.live.fence, each.ended.checkpoint, at),
            "fence": each.live.fence,
            "resumed_at": at,
            "resumed_by": owners[each.id],
        }
        for each in finished.values()
    ]
    journals.write(connection)
    laying.write(connection)
    upsert(connection, node_execution, journal, KEY)
    update_rows(connection, workflow_execution, rows, ("id",))


def _is_on_the_loop() -> bool:
    """SQLite's work is done in a thread, where what belongs to the loop is not to be touched."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
