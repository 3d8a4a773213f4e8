"""Dead letters: written with the end that they tell of, and dealt with once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, select, update

from muster.engine.actions import Note
from muster.engine.letters import DeadLetter, LetterKind, LetterStatus, WantedLetters
from muster.engine.outbox import OutgoingMessage
from muster.engine.owned import Progress
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry, Page
from muster.store.audit import add_audits
from muster.store.committer import GroupCommitter, Locks
from muster.store.database import Database
from muster.store.dialect import insert_rows, now
from muster.store.notes import Acted, acted, may_act, won, write_down
from muster.store.outbox import add_messages
from muster.store.paging import read_page
from muster.store.tables import dead_letter, execution_takeover, workflow, workflow_execution

D = dead_letter.c
E = workflow_execution.c
T = execution_takeover.c


def write_letters(connection: Connection, failed: Sequence[Progress], at: datetime) -> None:
    """A letter for every execution that these checkpoints end as failed."""
    if not failed:
        return
    ids = [item.execution_id for item in failed]
    chosen = select(E.id, E.institute_id, workflow.c.key).join(workflow, workflow.c.id == E.workflow_id)
    found = {row.id: row for row in connection.execute(chosen.where(E.id.in_(ids)))}
    takeovers = _takeovers(connection, ids)
    rows = {
        item.execution_id: _execution_row(item, found[item.execution_id], takeovers[item.execution_id], at)
        for item in failed
    }
    insert_rows(connection, dead_letter, list(rows.values()))


def _takeovers(connection: Connection, ids: Sequence[str]) -> Mapping[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = defaultdict(list)
    chosen = select(execution_takeover).where(T.execution_id.in_(ids)).order_by(T.fence)
    for row in connection.execute(chosen):
        found[row.execution_id].append({"owner": row.owner, "at": row.taken_at.isoformat()})
    return found


def _execution_row(
    item: Progress, found: Row[Any, Any, Any], takeovers: list[JsonObject], at: datetime
) -> dict[str, object]:
    checkpoint = item.checkpoint
    assert checkpoint is not None, "only an execution that has ended has a letter"
    assert checkpoint.failure is not None, "who failed says why"
    return {
        "kind": LetterKind.EXECUTION.value,
        "source": found.key,
        "key": item.execution_id,
        "value": {"nodeId": checkpoint.current_node, "takeovers": [*takeovers]},
        "headers": None,
        "error_type": checkpoint.failure.type,
        "error_message": checkpoint.failure.message,
        "attempts": list(checkpoint.attempts),
        "status": LetterStatus.OPEN.value,
        "institute_id": found.institute_id,
        "created_at": at,
        "resolved_at": None,
    }


def open_letters(connection: Connection, execution_ids: Sequence[str]) -> Mapping[str, list[int]]:
    """The letters of these executions that nobody has dealt with, locked."""
    found: dict[str, list[int]] = defaultdict(list)
    chosen = select(D.id, D.key).where(
        D.kind == LetterKind.EXECUTION, D.key.in_(execution_ids), D.status == LetterStatus.OPEN
    )
    for row in connection.execute(chosen.order_by(D.id).with_for_update()):
        found[row.key].append(row.id)
    return found


def resolve(connection: Connection, audits: Mapping[int, AuditEntry], at: datetime) -> None:
    """Mark letters that are locked as tried again, each by whom its audit entry names."""
    if audits:
        _close(connection, sorted(audits), LetterStatus.REDRIVEN, at)
        add_audits(connection, [_of_letter(number, audit) for number, audit in audits.items()], at)


def _of_letter(number: int, audit: AuditEntry) -> AuditEntry:
    return AuditEntry(
        "dead_letter", str(number), "redrive", audit.actor, audit.institute_id, dict(audit.details)
    )


def _close(connection: Connection, ids: Sequence[int], status: LetterStatus, at: datetime) -> None:
    connection.execute(update(dead_letter).where(D.id.in_(ids)).values(status=status.value, resolved_at=at))


class Dealing(NamedTuple):
    """A letter that somebody deals with. What it `sends` is published, and only if nobody else was faster."""

    letter: int
    note: Note
    sends: OutgoingMessage | None = None


class DealingWith:
    """Marks letters as dealt with: they are let be, or were tried again. Refused for one that somebody has
    dealt with."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def __init__(self, status: LetterStatus) -> None:
        self._status = status

    def write(self, connection: Connection, items: Sequence[Dealing]) -> Sequence[Acted]:
        allowed = may_act(connection, [item.note for item in items])
        wanted = {item.letter for item in items}
        chosen = select(D.id).where(D.id.in_(wanted), D.status == LetterStatus.OPEN)
        free = set(connection.scalars(chosen.order_by(D.id).with_for_update()))
        closed: dict[int, Dealing] = {}
        results: list[Acted] = []
        for item, may in zip(items, allowed, strict=True):
            results.append(acted(may, item.letter in free))
            if results[-1] is Acted.DONE:
                free.remove(item.letter)
                closed[item.letter] = item
        at = now(connection)
        _close(connection, sorted(closed), self._status, at)
        write_down(connection, [item.note for item in closed.values()], at)
        add_messages(connection, [item.sends for item in closed.values() if item.sends is not None])
        return results


class DeadLetterRepository:
    """`engine.letters.Letters` on a database."""

    def __init__(self, database: Database, committer: GroupCommitter) -> None:
        self._database, self._committer = database, committer
        self._dismissing = DealingWith(LetterStatus.DISMISSED)
        self._redriving = DealingWith(LetterStatus.REDRIVEN)

    async def get(self, institute_id: str | None, letter_id: int) -> DeadLetter | None:
        chosen = _of_tenant(select(dead_letter), institute_id).where(D.id == letter_id)
        row = await self._database.read(lambda connection: connection.execute(chosen).first())
        return None if row is None else _letter(row)

    async def list(
        self, institute_id: str | None, wanted: WantedLetters, page: Page
    ) -> tuple[Sequence[DeadLetter], str | None]:
        chosen = chosen_letters(institute_id, wanted, dead_letter)
        return await self._database.read(
            lambda connection: read_page(connection, "dead letters", chosen, [D.id], page, _letter, True)
        )

    async def open_of(self, institute_id: str | None, kind: LetterKind, key: str) -> int | None:
        chosen = _of_tenant(select(D.id), institute_id).where(
            D.kind == kind, D.key == key, D.status == LetterStatus.OPEN
        )
        return await self._database.read(lambda connection: connection.scalar(chosen.limit(1)))

    async def dismiss(self, letter_id: int, note: Note) -> bool:
        return won(await self._committer.submit(self._dismissing, Dealing(letter_id, note), object()))

    async def resend(self, letter_id: int, note: Note, message: OutgoingMessage) -> bool:
        dealing = Dealing(letter_id, note, message)
        return won(await self._committer.submit(self._redriving, dealing, object()))


def _of_tenant(chosen: Select[Any], institute_id: str | None) -> Select[Any]:
    return chosen if institute_id is None else chosen.where(D.institute_id == institute_id)


def chosen_letters(institute_id: str | None, wanted: WantedLetters, *columns: Any) -> Select[Any]:
    """These columns of the letters that are wanted, of those that the tenant sees."""
    chosen = _of_tenant(select(*columns), institute_id)
    if wanted.kind is not None:
        chosen = chosen.where(D.kind == wanted.kind)
    if wanted.status is not None:
        chosen = chosen.where(D.status == wanted.status)
    if wanted.source is not None:
        chosen = chosen.where(D.source == wanted.source)
    if wanted.created_from is not None:
        chosen = chosen.where(D.created_at >= wanted.created_from)
    if wanted.created_to is not None:
        chosen = chosen.where(D.created_at < wanted.created_to)
    return chosen


def _letter(row: Row[Any]) -> DeadLetter:
    return DeadLetter(
        id=row.id,
        kind=LetterKind(row.kind),
        source=row.source,
        key=row.key,
        value=row.value,
        headers=row.headers,
        error_type=row.error_type,
        error_message=row.error_message,
        attempts=row.attempts,
        status=LetterStatus(row.status),
        institute_id=row.institute_id,
        created_at=row.created_at,
        resolved_at=row.resolved_at,
    )
