"""Triggers as editors make, change and see them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from muster.definitions.ports import Stale
from muster.kit.clock import Clock
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry, Page
from muster.model.trigger import Trigger, TriggerSettings
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.paging import read_page
from muster.store.secrets import needed, trigger_place
from muster.store.tables import ID_LENGTH, workflow_trigger
from muster.store.trigger_rows import of_institute, settings_row, taken_paths, trigger_in
from muster.store.types import is_storable
from muster.store.vault import Vault

c = workflow_trigger.c
# One in use, and the one before it, until everybody who signs has the new one.
MOST_SECRETS = 2


class TriggerRepository:
    """`definitions.ports.Triggers` on a database. `vault` None: there is no key to encrypt secrets with, so
    none can be made."""

    def __init__(self, database: Database, clock: Clock, vault: Vault | None) -> None:
        self._database, self._clock, self._vault = database, clock, vault

    async def create(
        self,
        trigger_id: str,
        workflow_id: str,
        institute_id: str,
        settings: TriggerSettings,
        secret: str | None,
        audit: AuditEntry,
    ) -> Trigger:
        now = self._clock.now()
        row = settings_row(settings) | {
            "id": trigger_id,
            "workflow_id": workflow_id,
            "institute_id": institute_id,
            "secrets": self._added([], secret, institute_id, trigger_id, now),
            "version": 1,
            "created_at": now,
            "updated_at": now,
        }

        def work(connection: Connection) -> Trigger:
            connection.execute(insert(workflow_trigger).values(row))
            add_audit(connection, audit, now)
            return _require(connection, trigger_id)

        with taken_paths([settings]):
            return await self._database.write(work)

    async def replace(
        self,
        trigger_id: str,
        settings: TriggerSettings,
        secret: str | None,
        expected: int | None,
        audit: AuditEntry,
    ) -> tuple[Trigger, bool] | None:
        is_given = False

        def values(row: Row[Any], now: datetime) -> dict[str, object]:
            if expected not in (None, row.version):
                raise Stale(row.version)
            nonlocal is_given
            kept = row.secrets if settings.authentication == row.authentication else []
            is_given = not kept and secret is not None
            if is_given:
                kept = self._added([], secret, row.institute_id, row.id, now)
            anew = {"secrets": kept, "version": row.version + 1, "updated_at": now}
            return settings_row(settings) | anew

        with taken_paths([settings]):
            changed = await self._change(trigger_id, values, audit)
        return None if changed is None else (changed, is_given)

    async def add_secret(self, trigger_id: str, secret: str, audit: AuditEntry) -> Trigger | None:
        def values(row: Row[Any], now: datetime) -> dict[str, object]:
            return {"secrets": self._added(row.secrets, secret, row.institute_id, row.id, now)}

        return await self._change(trigger_id, values, audit)

    async def keep_newest_secret(self, trigger_id: str, audit: AuditEntry) -> Trigger | None:
        return await self._change(trigger_id, lambda row, _: {"secrets": row.secrets[:1]}, audit)

    async def _change(
        self,
        trigger_id: str,
        values: Callable[[Row[Any], datetime], dict[str, object]],
        audit: AuditEntry,
    ) -> Trigger | None:
        now = self._clock.now()

        def work(connection: Connection) -> Trigger | None:
            held = select(workflow_trigger).where(c.id == trigger_id).with_for_update()
            row = connection.execute(held).first()
            if row is None:
                return None
            changed = update(workflow_trigger).where(c.id == trigger_id).values(values(row, now))
            connection.execute(changed)
            add_audit(connection, audit, now)
            return _require(connection, trigger_id)

        return await self._database.write(work)

    async def delete(self, trigger_id: str, audit: AuditEntry) -> bool:
        now = self._clock.now()

        def work(connection: Connection) -> bool:
            gone = connection.execute(delete(workflow_trigger).where(c.id == trigger_id)).rowcount
            if gone:
                add_audit(connection, audit, now)
            return bool(gone)

        return await self._database.write(work)

    async def get(self, institute_id: str | None, trigger_id: str) -> Trigger | None:
        if not is_storable(trigger_id, ID_LENGTH):
            return None
        wanted = select(workflow_trigger).where(c.id == trigger_id, *of_institute(institute_id))
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else trigger_in(row)

    async def list(
        self, institute_id: str | None, workflow_id: str | None, page: Page
    ) -> tuple[Sequence[Trigger], str | None]:
        wanted = select(workflow_trigger).where(*of_institute(institute_id))
        if workflow_id is not None:
            wanted = wanted.where(c.workflow_id == workflow_id)
        return await self._database.read(
            lambda connection: read_page(connection, "triggers", wanted, [c.id], page, trigger_in)
        )

    def _added(
        self, present: Sequence[JsonObject], secret: str | None, institute: str, trigger: str, now: datetime
    ) -> Sequence[JsonObject]:
        """What is kept once a secret was made: it, and the one before it. Without one nothing is."""
        if secret is None:
            return []
        sealed = needed(self._vault).seal(secret, *trigger_place(institute, trigger))
        newest: JsonObject = {"sealed": sealed, "createdAt": now.isoformat()}
        return [newest, *present][:MOST_SECRETS]


def _require(connection: Connection, trigger_id: str) -> Trigger:
    return trigger_in(connection.execute(select(workflow_trigger).where(c.id == trigger_id)).one())
