"""Schedules whose time has come: claimed by whoever is there, settled under a fence."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, func, or_, select

from muster.engine.occurrence_starts import key_of_occurrence
from muster.engine.occurrences import DueSchedule
from muster.engine.schedules import Claimed, Settled
from muster.engine.state import FINAL, ExecutionStatus
from muster.model.schedule import StoredSchedule
from muster.store.database import Database
from muster.store.dialect import Claim, lock_rows, now, update_rows
from muster.store.schedule_rows import ACTIVE, INACTIVE, stored
from muster.store.tables import idempotency_key, workflow_execution, workflow_schedule
from muster.store.types import UtcTime

S = workflow_schedule.c
E = workflow_execution.c
K = idempotency_key.c
# Whoever has claimed a schedule and gone away holds it for no longer.
BUSY_FOR = timedelta(seconds=5)
HELD_FOR = timedelta(seconds=1)
# What cannot be understood is looked at again, but not all the time.
LEFT_ALONE_FOR = timedelta(minutes=1)

AT = bindparam("at", type_=UtcTime())
DUE = Claim(
    workflow_schedule,
    select(S.id)
    .where(and_(S.status == ACTIVE, S.next_run_at <= AT, or_(S.lease_until.is_(None), S.lease_until <= AT)))
    .order_by(S.next_run_at, S.id)
    .limit(bindparam("most")),
    {"lease_until": bindparam("until", type_=UtcTime()), "fence": S.fence + 1},
    list(S),
)


def next_run(at: ColumnElement[datetime]) -> Select[Any]:
    """When the next comes due, or came due that nobody has claimed."""
    unclaimed = or_(S.next_run_at > at, S.lease_until.is_(None), S.lease_until <= at)
    return select(func.min(S.next_run_at)).where(S.status == ACTIVE, unclaimed)


NEXT = next_run(AT)


class DueScheduleRepository:
    """`engine.schedules.DueSchedules` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, most: int) -> Claimed:
        def work(connection: Connection) -> Claimed:
            at = now(connection)
            rows = DUE.run(connection, at=at, until=at + BUSY_FOR, most=most)
            return Claimed(at, _due(connection, rows, at) if rows else ())

        return await self._database.write(work)

    async def settle(self, settled: Sequence[Settled]) -> None:
        if not settled:
            return
        fences = {each.due.stored.id: each.due.fence for each in settled}

        def work(connection: Connection) -> None:
            at = now(connection)
            held = lock_rows(connection, workflow_schedule, "id", list(fences), ("id", "fence"))
            mine = {row.id for row in held if row.fence == fences[row.id]}
            rows = [_settled_row(each, at) for each in settled if each.due.stored.id in mine]
            rows.sort(key=sorted)
            for _, alike in groupby(rows, sorted):
                update_rows(connection, workflow_schedule, list(alike), ("id",))

        await self._database.write(work)

    async def next_due(self) -> timedelta | None:
        def work(connection: Connection) -> timedelta | None:
            at = now(connection)
            found: datetime | None = connection.execute(NEXT, {"at": at}).scalar()
            return None if found is None else found - at

        return await self._database.read(work)


def _settled_row(settled: Settled, at: datetime) -> dict[str, object]:
    """The columns that have changed: what somebody has done by hand meanwhile stays."""
    plan = settled.plan
    row: dict[str, object] = {"id": settled.due.stored.id, "lease_until": None, "updated_at": at}
    if plan is None:
        return {**row, "lease_until": at + LEFT_ALONE_FOR, "last_error": settled.error}
    ended = plan.gives_up or plan.next_run_at is None
    row["status"] = INACTIVE if ended else ACTIVE
    row["next_run_at"] = None if ended else plan.next_run_at
    if plan.holds:
        row["lease_until"] = at + HELD_FOR
    if settled.ran:
        row["last_run_at"] = at
    if plan.gives_up:
        row["last_error"] = f"Switched off: {settled.due.failures} executions in a row have failed."
    elif settled.ran or settled.error:
        row["last_error"] = settled.error
    if plan.skipped_at is not None:
        row |= {"last_skipped_at": plan.skipped_at, "last_skip_reason": plan.skip_reason}
    return row


def _due(connection: Connection, rows: Sequence[Row[Any]], at: datetime) -> list[DueSchedule]:
    kept = {row.id: stored(row) for row in rows}
    skipping = [row.id for row in rows if row.overlap == "skip"]
    running = _running(connection, skipping)
    started = _started(connection, list(kept.values()), at)
    return [
        DueSchedule(
            kept[row.id],
            row.next_run_at,
            row.fence,
            is_started=row.id in started,
            runs=row.id in running,
            failures=_failures(connection, row),
        )
        for row in rows
    ]


def _running(connection: Connection, ids: Collection[str]) -> set[str]:
    if not ids:
        return set()
    live = select(E.trigger_id).where(E.trigger_id.in_(sorted(ids)), E.completed_at.is_(None)).distinct()
    return set(connection.scalars(live))


def _started(connection: Connection, due: Sequence[StoredSchedule], at: datetime) -> set[str]:
    """Those whose next occurrence somebody has started, and then died."""
    keys = {_hash(each, at): each.id for each in due if each.next_run_at is not None}
    found = connection.scalars(select(K.hash).where(K.hash.in_(sorted(keys)), K.expires_at > at))
    return {keys[each] for each in found}


def _hash(kept: StoredSchedule, at: datetime) -> str:
    assert kept.next_run_at is not None, "it is due"
    key = key_of_occurrence(kept, kept.next_run_at, at).hash
    assert key is not None, "an occurrence's key can be asked for by others"
    return key


def _failures(connection: Connection, row: Row[Any]) -> int:
    """How many of the last executions that ended since it was switched on have failed, in a row."""
    if row.pause_after_failures is None:
        return 0
    # A question for each: in one for all, no database would stop at the last few of each schedule.
    ended = (
        select(E.status)
        .where(E.trigger_id == row.id, E.started_at >= row.activated_at, E.status.in_(sorted(FINAL)))
        .order_by(E.id.desc())
        .limit(row.pause_after_failures)
    )
    statuses = connection.scalars(ended).all()
    failed = ExecutionStatus.FAILED.value
    return next((place for place, status in enumerate(statuses) if status != failed), len(statuses))
