"""Bulk jobs and their items: chosen at once, worked on by one instance at a time, each item settled once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, String, and_, cast, func, insert, literal, or_, select, update

from muster.engine.bulk import (
    ClaimedJob,
    Item,
    ItemStatus,
    Job,
    JobAction,
    JobStatus,
    JobTarget,
    Order,
    options_document,
    options_of,
)
from muster.engine.letters import WantedLetters
from muster.model.access import Caller
from muster.model.execution import Wanted
from muster.model.json import Json, JsonObject
from muster.model.stored import AuditEntry, Page
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dead_letters import chosen_letters
from muster.store.dialect import Claim, insert_rows, now, update_rows
from muster.store.execution_records import chosen_executions
from muster.store.paging import read_page
from muster.store.tables import bulk_job, bulk_job_item, dead_letter, workflow_execution

B = bulk_job.c
I = bulk_job_item.c  # noqa: E741 - as the other tables' columns, by the table's first letter


class BulkJobRepository:
    """`engine.bulk.Jobs` on a database."""

    def __init__(self, database: Database, lease: timedelta) -> None:
        self._database, self._lease = database, lease

    async def accept(self, job_id: str, order: Order, actor: Caller, audit: AuditEntry) -> int:
        def work(connection: Connection) -> int:
            at = now(connection)
            insert_rows(connection, bulk_job, [_job_row(job_id, order, actor, at)])
            total = _put_items(connection, job_id, order, actor.institute_id)
            done = {} if total else {"status": JobStatus.COMPLETED.value, "completed_at": at}
            connection.execute(update(bulk_job).where(B.id == job_id).values(total=total, **done))
            add_audit(connection, audit, at)
            return total

        return await self._database.write(work)

    async def get(self, institute_id: str | None, job_id: str) -> Job | None:
        chosen = _of_tenant(select(bulk_job).where(B.id == job_id), institute_id)
        counted = select(I.status, func.count()).where(I.job_id == job_id).group_by(I.status)

        def work(connection: Connection) -> Job | None:
            row = connection.execute(chosen).first()
            if row is None:
                return None
            counts = {ItemStatus(status): count for status, count in connection.execute(counted)}
            return _job(row, counts)

        return await self._database.read(work)

    async def list(
        self, institute_id: str | None, target: JobTarget, page: Page
    ) -> tuple[Sequence[Job], str | None]:
        chosen = _of_tenant(select(bulk_job).where(B.target == target), institute_id)

        def work(connection: Connection) -> tuple[Sequence[Job], str | None]:
            rows, following = read_page(connection, "bulk jobs", chosen, [B.id], page, _as_read, True)
            counted = (
                select(I.job_id, I.status, func.count())
                .where(I.job_id.in_([row.id for row in rows]))
                .group_by(I.job_id, I.status)
            )
            counts: dict[str, dict[ItemStatus, int]] = defaultdict(dict)
            for job_id, status, count in connection.execute(counted):
                counts[job_id][ItemStatus(status)] = count
            return [_job(row, counts[row.id]) for row in rows], following

        return await self._database.read(work)

    async def items(
        self, job_id: str, status: ItemStatus | None, page: Page
    ) -> tuple[Sequence[Item], str | None]:
        chosen = select(bulk_job_item).where(I.job_id == job_id)
        if status is not None:
            chosen = chosen.where(I.status == status)
        return await self._database.read(
            lambda connection: read_page(connection, "bulk items", chosen, [I.item_id], page, _item)
        )

    async def cancel(self, job_id: str, audit: AuditEntry) -> bool:
        def work(connection: Connection) -> bool:
            at = now(connection)
            running = update(bulk_job).where(B.id == job_id, B.status == JobStatus.RUNNING)
            ended = {"status": JobStatus.CANCELLED.value, "completed_at": at, "updated_at": at, **LET_GO}
            if connection.execute(running.values(**ended)).rowcount == 0:
                return False
            left = update(bulk_job_item).where(I.job_id == job_id, I.status == ItemStatus.PENDING)
            connection.execute(left.values(status=ItemStatus.CANCELLED.value, completed_at=at))
            add_audit(connection, audit, at)
            return True

        return await self._database.write(work)

    async def claim(self, owner: str, earlier: str, most: int) -> ClaimedJob | None:
        def work(connection: Connection) -> ClaimedJob | None:
            at = now(connection)
            free = or_(B.owner.is_(None), B.owner.startswith(earlier, autoescape=True), B.lease_until < at)
            chosen = select(B.id).where(and_(B.status == JobStatus.RUNNING, free))
            taken = {"owner": owner, "lease_until": at + self._lease, "fence": B.fence + 1, "updated_at": at}
            claim = Claim(bulk_job, chosen.order_by(B.updated_at, B.id).limit(1), taken, list(B))
            rows = claim.run(connection)
            if not rows:
                return None
            return ClaimedJob(_job(rows[0], {}), rows[0].fence, _pending(connection, rows[0].id, most))

        return await self._database.write(work)

    async def settle(self, claimed: ClaimedJob, refused: Mapping[str, str]) -> None:
        job_id = claimed.job.id

        def work(connection: Connection) -> None:
            mine = select(B.id).where(B.id == job_id, B.fence == claimed.fence, B.status == JobStatus.RUNNING)
            if connection.execute(mine.with_for_update()).first() is None:
                return
            at = now(connection)
            _refuse(connection, job_id, refused, at)
            done = (
                {}
                if _pending(connection, job_id, 1)
                else {
                    "status": JobStatus.COMPLETED.value,
                    "completed_at": at,
                }
            )
            connection.execute(update(bulk_job).where(B.id == job_id).values(updated_at=at, **LET_GO, **done))

        await self._database.write(work)


LET_GO: Mapping[str, None] = {"owner": None, "lease_until": None}


def _put_items(connection: Connection, job_id: str, order: Order, institute_id: str | None) -> int:
    """The items that are chosen now, however many, in one statement. Those that are named are all there, also
    what does not exist: it is refused when its turn comes."""
    match order.chosen:
        case Wanted() as wanted:
            found = chosen_executions(institute_id, wanted, workflow_execution.c.id)
        case WantedLetters() as letters:
            found = chosen_letters(institute_id, letters, cast(dead_letter.c.id, String(36)))
        case ids:
            named = [_new_item(job_id, item) for item in dict.fromkeys(ids)]
            insert_rows(connection, bulk_job_item, named)
            return len(named)
    into = insert(bulk_job_item).from_select(["job_id", "item_id", "status"], _as_items(job_id, found))
    return connection.execute(into).rowcount


def _as_items(job_id: str, found: Select[Any]) -> Select[Any]:
    chosen = found.subquery()
    return select(
        literal(job_id, I.job_id.type), chosen.c[0], literal(ItemStatus.PENDING.value, I.status.type)
    )


def _new_item(job_id: str, item: str) -> dict[str, object]:
    return {"job_id": job_id, "item_id": item, "status": ItemStatus.PENDING.value}


def _pending(connection: Connection, job_id: str, most: int) -> Sequence[str]:
    chosen = select(I.item_id).where(I.job_id == job_id, I.status == ItemStatus.PENDING)
    return connection.scalars(chosen.order_by(I.item_id).limit(most)).all()


def _refuse(connection: Connection, job_id: str, refused: Mapping[str, str], at: datetime) -> None:
    """Of those that have no result yet: under this fence nobody else gives them one."""
    chosen = select(I.item_id).where(
        I.job_id == job_id, I.item_id.in_(sorted(refused)), I.status == ItemStatus.PENDING
    )
    rows = [
        {
            "job_id": job_id,
            "item_id": item,
            "status": ItemStatus.REFUSED.value,
            "reason": refused[item],
            "completed_at": at,
        }
        for item in connection.scalars(chosen.with_for_update())
    ]
    update_rows(connection, bulk_job_item, rows, ("job_id", "item_id"))


def _job_row(job_id: str, order: Order, actor: Caller, at: datetime) -> dict[str, object]:
    return {
        "id": job_id,
        "target": order.target.value,
        "action": order.action.value,
        "filter": _filter_document(order.chosen),
        "options": options_document(order.options),
        "reason": order.reason,
        "actor": actor.name,
        "institute_id": actor.institute_id or "",
        "every_institute": actor.institute_id is None,
        "status": JobStatus.RUNNING.value,
        "total": 0,
        "fence": 0,
        "created_at": at,
        "updated_at": at,
    }


def _filter_document(chosen: Wanted | WantedLetters | Sequence[str]) -> JsonObject | None:
    """What told the items from others, for people."""
    if not isinstance(chosen, Wanted | WantedLetters):
        return None
    given = {field.name: getattr(chosen, field.name) for field in fields(chosen)}
    return {name: _plain(value) for name, value in given.items() if value is not None}


def _plain(value: Any) -> Json:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _of_tenant(chosen: Select[Any], institute_id: str | None) -> Select[Any]:
    if institute_id is None:
        return chosen
    return chosen.where(B.institute_id == institute_id, B.every_institute.is_(False))


def _as_read(row: Row[Any]) -> Row[Any]:
    return row


def _job(row: Row[Any], counts: Mapping[ItemStatus, int]) -> Job:
    return Job(
        id=row.id,
        target=JobTarget(row.target),
        action=JobAction(row.action),
        filter=row.filter,
        reason=row.reason,
        options=options_of(row.options),
        actor=row.actor,
        institute_id=None if row.every_institute else row.institute_id,
        status=JobStatus(row.status),
        total=row.total,
        created_at=row.created_at,
        completed_at=row.completed_at,
        counts=counts,
    )


def _item(row: Row[Any]) -> Item:
    return Item(
        item_id=row.item_id,
        status=ItemStatus(row.status),
        reason=row.reason,
        result=row.result,
        completed_at=row.completed_at,
    )
