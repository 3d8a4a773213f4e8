"""Deliveries: messages to people and what became of them, one row for each, however often it was tried."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from muster.kit.backoff import until_it_works
from muster.model.stored import Page
from muster.nodes.ports import BEFORE, Channel, Delivery, DeliveryReport, DeliveryStatus, Reported
from muster.store.committer import TROUBLE, GroupCommitter, Locks
from muster.store.database import Database
from muster.store.dialect import insert_new, update_rows
from muster.store.paging import read_page
from muster.store.tables import delivery

D = delivery.c
NEVER_CHANGES = frozenset({"created_at", "execution_id", "node_id", "item_key", "institute_id", "channel"})
GONE_OUT = (DeliveryStatus.SENT, DeliveryStatus.DELIVERED, DeliveryStatus.READ)

log = logging.getLogger(__name__)


class Recording:
    """Writes deliveries, each once: a repeat changes the row that is there."""

    key_may_repeat = False
    locks = Locks.NOTHING
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[Delivery]) -> Sequence[None]:
        rows = {hash_of(item.key): _row(item) for item in items}
        fresh = insert_new(connection, delivery, list(rows.values()), ("key_hash",))
        repeats = {key: row for key, row in rows.items() if (key,) not in fresh}
        for key in _sent_already(connection, repeats):
            if repeats[key]["status"] == DeliveryStatus.FAILED:
                del repeats[key]
        changed = [_without(row, NEVER_CHANGES) for row in repeats.values()]
        update_rows(connection, delivery, changed, ("key_hash",))
        return [None] * len(items)


def _sent_already(connection: Connection, repeats: dict[str, dict[str, object]]) -> list[str]:
    if not repeats:
        return []
    sent = select(D.key_hash).where(D.key_hash.in_(sorted(repeats)), D.status.in_(GONE_OUT))
    return list(connection.execute(sent).scalars())


def _without(row: dict[str, object], names: frozenset[str]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in names}


class DeliveryRepository:
    """`nodes.ports.Deliveries` on a database, and the outbox that people look at."""

    def __init__(self, database: Database, committer: GroupCommitter) -> None:
        self._database, self._committer, self._recording = database, committer, Recording()

    async def record(self, item: Delivery) -> None:
        def tell(away: Exception) -> None:
            # The message has gone out: that the store is away must not send it again.
            ids = {"execution_id": item.execution_id}
            log.debug("execution %s: a delivery is not recorded yet: %s", item.execution_id, away, extra=ids)

        place = ("delivery", item.key)
        await until_it_works(lambda: self._committer.submit(self._recording, item, place), TROUBLE, tell)

    async def report(self, reports: Sequence[DeliveryReport]) -> Reported:
        """Note what a provider says. Durable when this returns; saying it again changes nothing."""
        if not reports:
            return Reported(0, 0, 0)
        return await self._database.write(lambda connection: _report(connection, reports))

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        execution_id: str | None = None,
        channel: Channel | None = None,
        status: DeliveryStatus | None = None,
    ) -> tuple[Sequence[Delivery], str | None]:
        """Newest first, and the cursor of the next page. Raises `BadCursor`."""
        given = (
            (D.institute_id, institute_id),
            (D.execution_id, execution_id),
            (D.channel, channel),
            (D.status, status),
        )
        wanted = select(delivery).where(*(column == value for column, value in given if value is not None))
        return await self._database.read(
            lambda connection: read_page(
                connection, "deliveries", wanted, [D.id], page, _delivery, newest_first=True
            )
        )


def _report(connection: Connection, reports: Sequence[DeliveryReport]) -> Reported:
    """A message is found by its provider's name for it, locked in that order, and changed if that says more
    than was known."""
    ids = sorted({report.provider_id for report in reports})
    found = select(D.provider_id, D.id, D.status).where(D.channel == Channel.WHATSAPP, D.provider_id.in_(ids))
    rows = {row.provider_id: row for row in connection.execute(found.order_by(D.id).with_for_update())}
    status = {provider_id: DeliveryStatus(row.status) for provider_id, row in rows.items()}
    changed: dict[str, dict[str, object]] = {}
    for report in reports:
        known = status.get(report.provider_id)
        if known is not None and known in BEFORE[report.status]:
            status[report.provider_id] = report.status
            row = {"id": rows[report.provider_id].id, "status": report.status.value, "error": report.error}
            changed[report.provider_id] = row
    update_rows(connection, delivery, list(changed.values()), ("id",))
    unknown = len(ids) - len(rows)
    return Reported(len(changed), len(rows) - len(changed), unknown)


def hash_of(key: str) -> str:
    """A key of any length as one of the same length always."""
    return hashlib.sha256(key.encode()).hexdigest()


def _row(item: Delivery) -> dict[str, object]:
    return {
        "key_hash": hash_of(item.key),
        "execution_id": item.execution_id,
        "node_id": item.node_id,
        "item_key": item.item_key,
        "institute_id": item.institute_id,
        "channel": item.channel.value,
        "recipient": item.recipient,
        "subject": item.subject,
        "body": item.body,
        "status": item.status.value,
        "provider_id": item.provider_id,
        "error": item.error,
        "created_at": item.created_at,
        "sent_at": item.sent_at,
    }


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(
        key=row.key_hash,
        execution_id=row.execution_id,
        node_id=row.node_id,
        item_key=row.item_key,
        institute_id=row.institute_id,
        channel=Channel(row.channel),
        recipient=row.recipient,
        subject=row.subject,
        body=row.body,
        status=DeliveryStatus(row.status),
        created_at=row.created_at,
        provider_id=row.provider_id,
        error=row.error,
        sent_at=row.sent_at,
        id=row.id,
    )
