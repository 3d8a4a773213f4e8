"""What is done to executions from outside, each in one transaction with the note of who did it and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from muster.engine.actions import Note, Reopened
from muster.engine.journal import SignalKind
from muster.engine.owned import NewExecution
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.json import JsonObject
from muster.store.answers import reach
from muster.store.child_ends import cancel_queued
from muster.store.children import enter
from muster.store.committer import GroupCommitter, Locks
from muster.store.dead_letters import open_letters, resolve
from muster.store.dialect import insert_new, lock_rows, now, update_rows
from muster.store.event_waits import rearm_wait
from muster.store.execution_rows import new_row
from muster.store.finding import write_tags_and_terms
from muster.store.large_values import OF_EXECUTIONS, Laying
from muster.store.limits import NEXT_LOOK, Queued, lock_workflows, start_limited
from muster.store.lock_order import lock_reached
from muster.store.notes import Acted, acted, may_act, won, write_down
from muster.store.tables import execution_signal, workflow_execution

E = workflow_execution.c
S = execution_signal.c
LOCKED = ("id", "fence", "status", "owner")


@dataclass(frozen=True, slots=True)
class Sent:
    """A signal on its way to an execution; with a fence, to what it is as long as that holds."""

    execution_id: str
    kind: SignalKind
    payload: JsonObject
    fence: int | None = None


class Signalling:
    """Signals with their notes; refused for an execution that has ended."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[tuple[Sent, Note]]) -> Sequence[Acted]:
        allowed = may_act(connection, [note for _, note in items])
        wanted = [item for item, may in zip(items, allowed, strict=True) if may]
        reached = iter(put_signals(connection, [sent for sent, _ in wanted]))
        results = [acted(may, may and next(reached)) for may in allowed]
        notes = [note for (_, note), did in zip(items, results, strict=True) if did is Acted.DONE]
        write_down(connection, notes, now(connection))
        return results


def put_signals(connection: Connection, signals: Sequence[Sent]) -> list[bool]:
    """Keep signals for their executions' owners; who has none is due at once. Answers which were kept: those
    for executions that have not ended."""
    rows = lock_reached(connection, {sent.execution_id for sent in signals}, LOCKED)
    kept = [_is_for(sent, rows.get(sent.execution_id)) for sent in signals]
    meant = [sent for sent, keeps in zip(signals, kept, strict=True) if keeps]
    # What is queued has not begun: it is over at once, and nobody has to take it up for that.
    over = [sent for sent in meant if _is_over_at_once(sent, rows[sent.execution_id])]
    cancel_queued(connection, {sent.execution_id: sent.payload for sent in over})
    reach(connection, [(sent.execution_id, sent.kind, sent.payload) for sent in meant if sent not in over])
    return kept


def _is_for(sent: Sent, row: Row[Any] | None) -> bool:
    return row is not None and row.status not in FINAL and sent.fence in (None, row.fence)


def _is_over_at_once(sent: Sent, row: Row[Any]) -> bool:
    return sent.kind is SignalKind.CANCEL and row.status == ExecutionStatus.QUEUED


def _locked(connection: Connection, ids: set[str]) -> dict[str, Row[Any]]:
    found = lock_rows(connection, workflow_execution, "id", list(ids), LOCKED)
    return {row.id: row for row in found}


class Deciding:
    """What people say of visits in doubt, with their notes; refused where one was answered already."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[tuple[Sent, Note]]) -> Sequence[Acted]:
        _locked(connection, {sent.execution_id for sent, _ in items})
        return [self._decide(connection, sent, note) for sent, note in items]

    def _decide(self, connection: Connection, sent: Sent, note: Note) -> Acted:
        """One by one: people are few, and the next looks at what the one before has written."""
        given = select(S.payload).where(S.execution_id == sent.execution_id, S.kind == sent.kind)
        answered = [(payload["node"], payload["visit"]) for payload in connection.scalars(given)]
        if (sent.payload["node"], sent.payload["visit"]) in answered:
            return Acted.REFUSED
        [kept] = put_signals(connection, [sent])
        if kept:
            write_down(connection, [note], now(connection))
        return acted(True, kept)


class Reopening:
    """Lets ended executions go on. Of several who try one execution again, or deal with its dead letter, one
    wins."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[tuple[Reopened, Note]]) -> Sequence[Acted]:
        allowed = may_act(connection, [note for _, note in items])
        limited = [again for again, _ in items if again.limit is not None]
        lock_workflows(connection, {again.before.row.workflow_id for again in limited})
        rows = _locked(connection, {again.before.row.id for again, _ in items})
        letters = open_letters(connection, sorted(rows))
        winners: dict[str, tuple[Reopened, Note]] = {}
        results: list[Acted] = []
        for (again, note), may in zip(items, allowed, strict=True):
            execution_id = again.before.row.id
            can = execution_id not in winners and _may_reopen(again, rows, letters.get(execution_id, []))
            results.append(acted(may, can))
            if results[-1] is Acted.DONE:
                winners[execution_id] = (again, note)
        at, laying = now(connection), Laying(OF_EXECUTIONS)
        reopened = [_reopened_row(laying, again, at) for again, _ in winners.values()]
        laying.write(connection)
        update_rows(connection, workflow_execution, reopened, ("id",))
        for again, _ in winners.values():
            if again.rearm is not None:
                rearm_wait(connection, again.rearm)
        enter(
            connection,
            [
                Queued(key, again.before.row.workflow_id, again.limit)
                for key, (again, _) in winners.items()
                if again.limit is not None
            ],
        )
        audits = {number: winners[key][1].audit for key in winners for number in letters.get(key, [])}
        resolve(connection, audits, at)
        write_down(connection, [note for _, note in winners.values()], at)
        return results


def _may_reopen(again: Reopened, rows: Mapping[str, Row[Any]], letters: Sequence[int]) -> bool:
    row = rows.get(again.before.row.id)
    if row is None or row.fence != again.before.fence or row.status not in FINAL:
        return False
    return again.letter is None or again.letter in letters


def _reopened_row(laying: Laying, again: Reopened, at: datetime) -> dict[str, object]:
    row: dict[str, object] = {
        "id": again.before.row.id,
        "workflow_version_id": again.version_id,
        "status": ExecutionStatus.QUEUED.value if again.limit else ExecutionStatus.RESUMING.value,
        "output": None,
        "fence": again.before.fence + 1,
        # Of whoever takes it up.
        "untouched_fence": again.before.fence + 2,
        "resume_at": at + NEXT_LOOK if again.limit else at,
        "completed_at": None,
        "error_type": None,
        "error_message": None,
        "updated_at": at,
    }
    return laying.row(again.before.row.id, row, {"context": again.context, "state": again.state})


class Beginning:
    """Executions that no instance owns yet, due at once or queued. One that is there already stays as it
    is."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[tuple[NewExecution, Note]]) -> Sequence[Acted]:
        allowed = may_act(connection, [note for _, note in items])
        begun = [item for item, may in zip(items, allowed, strict=True) if may]
        start_limited(connection, [new for new, _ in begun if new.limit is not None])
        at, laying = now(connection), Laying(OF_EXECUTIONS)
        free = [new for new, _ in begun if new.limit is None]
        insert_new(connection, workflow_execution, [new_row(laying, new, at) for new in free], ("id",))
        laying.write(connection)
        write_tags_and_terms(connection, free)
        write_down(connection, [note for _, note in begun], at)
        return [acted(may, True) for may in allowed]


class ExecutionActs:
    """`engine.actions.Acts` on a database."""

    def __init__(self, committer: GroupCommitter) -> None:
        self._committer = committer
        self._signalling, self._deciding = Signalling(), Deciding()
        self._reopening, self._beginning = Reopening(), Beginning()

    async def signal(self, execution_id: str, kind: SignalKind, payload: JsonObject, note: Note) -> bool:
        sent = Sent(execution_id, kind, payload)
        return won(await self._committer.submit(self._signalling, (sent, note), object()))

    async def decide(self, execution_id: str, payload: JsonObject, fence: int, note: Note) -> bool:
        sent = Sent(execution_id, SignalKind.DECIDE, payload, fence)
        return won(await self._committer.submit(self._deciding, (sent, note), object()))

    async def reopen(self, again: Reopened, note: Note) -> bool:
        return won(await self._committer.submit(self._reopening, (again, note), object()))

    async def begin(self, new: NewExecution, note: Note) -> None:
        won(await self._committer.submit(self._beginning, (new, note), object()))
