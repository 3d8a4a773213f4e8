"""The audit log: who did what, written in the transaction that did it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from muster.model.stored import AuditEntry, AuditRecord, Page
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.paging import read_page
from muster.store.tables import audit_log


def add_audit(connection: Connection, entry: AuditEntry, now: datetime) -> None:
    """Note what the transaction that is open does."""
    add_audits(connection, [entry], now)


def add_audits(connection: Connection, entries: Sequence[AuditEntry], now: datetime) -> None:
    add_audits_at(connection, [(entry, now) for entry in entries])


def add_audits_at(connection: Connection, entries: Sequence[tuple[AuditEntry, datetime]]) -> None:
    """The same, each with the time at which it was done."""
    rows = [
        {
            "entity_type": entry.entity_type,
            "entity_id": entry.entity_id,
            "action": entry.action,
            "actor": entry.actor,
            "details": entry.details,
            "institute_id": entry.institute_id,
            "created_at": at,
        }
        for entry, at in entries
    ]
    insert_rows(connection, audit_log, rows)


class AuditLog:
    """Reading the audit log. Rows are only ever added."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self, institute_id: str | None, entity_type: str, entity_id: str, page: Page
    ) -> tuple[Sequence[AuditRecord], str | None]:
        """What happened to one thing, newest first, and the cursor of the next page. Raises `BadCursor`."""
        wanted = select(audit_log).where(
            audit_log.c.entity_type == entity_type, audit_log.c.entity_id == entity_id
        )
        if institute_id is not None:
            wanted = wanted.where(audit_log.c.institute_id == institute_id)
        return await self._database.read(
            lambda connection: read_page(
                connection, "audit", wanted, [audit_log.c.id], page, _record, newest_first=True
            )
        )


def _record(row: Row[Any]) -> AuditRecord:
    entry = AuditEntry(
        row.entity_type, row.entity_id, row.action, row.actor, row.institute_id, dict(row.details)
    )
    return AuditRecord(row.id, entry, row.created_at)
