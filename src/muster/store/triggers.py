"""Triggers: made and changed by editors, and found by who fires them."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, Row, Select, delete, insert, select, update

from muster.definitions.ports import Stale
from muster.definitions.trigger_library import secret_bytes
from muster.engine.ports import NotWritten
from muster.engine.triggering import Startable
from muster.kit.clock import Clock
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry, Page
from muster.model.trigger import Trigger, TriggerSettings, TriggerStatus, TriggerType
from muster.model.workflow import WorkflowStatus
from muster.nodes.data_ports import NotConfigured
from muster.store.audit import add_audit
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.paging import read_page
from muster.store.secrets import needed, trigger_place
from muster.store.tables import ID_LENGTH, NAME_LENGTH, workflow, workflow_trigger
from muster.store.trigger_rows import settings_in, settings_row, taken_paths, trigger_in
from muster.store.types import is_storable
from muster.store.vault import Unreadable, Vault

c = workflow_trigger.c
# One in use, and the one before it, until everybody who signs has the new one.
MOST_SECRETS = 2

_log = structlog.get_logger("muster.triggers")


class TriggerRepository:
    """`definitions.ports.Triggers` and `engine.triggering.Startables` on a database.

    `vault` None: there is no key to encrypt secrets with, so none can be made or read.
    """

    def __init__(self, database: Database, clock: Clock, vault: Vault | None) -> None:
        self._database, self._clock, self._vault = database, clock, vault
        self._unread = set[str]()

    # --- for editors -------------------------------------------------------------------------------

    def _added(
        self, present: Sequence[JsonObject], secret: str | None, institute: str, trigger: str, now: datetime
    ) -> list[JsonObject]:
        if secret is None:
            return []
        sealed = needed(self._vault).seal(secret, *trigger_place(institute, trigger))
        newest: JsonObject = {"sealed": sealed, "createdAt": now.isoformat()}
        return [newest, *present][:MOST_SECRETS]

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
        wanted = select(workflow_trigger).where(c.id == trigger_id, *_of(institute_id))
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else trigger_in(row)

    async def list(
        self, institute_id: str | None, workflow_id: str | None, page: Page
    ) -> tuple[Sequence[Trigger], str | None]:
        wanted = select(workflow_trigger).where(*_of(institute_id))
        if workflow_id is not None:
            wanted = wanted.where(c.workflow_id == workflow_id)
        return await self._database.read(
            lambda connection: read_page(connection, "triggers", wanted, [c.id], page, trigger_in)
        )

    # --- for who fires them ----------------------------------------------------------------------------

    async def by_id(self, trigger_id: str) -> Startable | None:
        if not is_storable(trigger_id, ID_LENGTH):
            return None
        return await self._one(c.id == trigger_id)

    async def by_path(self, path: str) -> Startable | None:
        return await self._one(c.path == path) if is_storable(path, NAME_LENGTH) else None

    async def by_event(self, institute_id: str | None, name: str) -> Sequence[Startable]:
        if not is_storable(name, NAME_LENGTH):
            return []
        return await self._startable(c.trigger_event_name == name, *_of(institute_id))

    async def by_topic(self, topic: str) -> Sequence[Startable]:
        if not is_storable(topic, NAME_LENGTH):
            return []
        return await self._startable(c.topic == topic)

    async def of_alerts(self, institute_id: str) -> Sequence[Startable]:
        """Those of a tenant that alerts fire, the oldest first."""
        return await self._startable(c.type == TriggerType.ALERT.value, *_of(institute_id))

    async def topics(self) -> Collection[str]:
        """The topics whose messages start something. Raises `NotWritten`."""
        try:
            return await self._database.read(
                lambda connection: connection.scalars(WANTED_TOPICS).all(), single=True
            )
        except TROUBLE as away:
            raise NotWritten(str(away)) from away

    async def _one(self, condition: ColumnElement[bool]) -> Startable | None:
        return next(iter(await self._startable(condition)), None)

    async def _startable(self, *conditions: ColumnElement[bool]) -> Sequence[Startable]:
        wanted = _startables().where(*conditions).order_by(c.created_at, c.id)
        rows = await self._database.read(lambda connection: connection.execute(wanted).all())
        return [self._opened(row) for row in rows]

    def _opened(self, row: Row[Any]) -> Startable:
        return Startable(
            id=row.id,
            workflow_id=row.workflow_id,
            version_id=row.active_version_id,
            institute_id=row.institute_id,
            settings=settings_in(row),
            secrets=tuple(self._secrets(row)),
            created_at=row.created_at,
        )

    def _secrets(self, row: Row[Any]) -> Sequence[bytes]:
        """Those that can be read. Without any, nobody's signature is right."""
        opened = (self._secret(row, secret["sealed"]) for secret in row.secrets)
        return [secret for secret in opened if secret is not None]

    def _secret(self, row: Row[Any], sealed: str) -> bytes | None:
        try:
            place = trigger_place(row.institute_id, row.id)
            return secret_bytes(needed(self._vault).unseal(sealed, *place))
        except (Unreadable, NotConfigured) as error:
            if sealed not in self._unread:  # a trigger that is fired is read every second
                self._unread.add(sealed)
                _log.error("a trigger's secret cannot be read", trigger_id=row.id, reason=str(error))
            return None


def _of(institute_id: str | None) -> list[ColumnElement[bool]]:
    return [] if institute_id is None else [c.institute_id == institute_id]


def _startables() -> Select[Any]:
    """Active triggers of workflows that can be started."""
    return (
        select(workflow_trigger, workflow.c.active_version_id)
        .join(workflow, workflow.c.id == c.workflow_id)
        .where(
            c.status == TriggerStatus.ACTIVE.value,
            workflow.c.status == WorkflowStatus.ACTIVE.value,
            workflow.c.active_version_id.is_not(None),
        )
    )


WANTED_TOPICS = _startables().with_only_columns(c.topic).where(c.topic.is_not(None)).distinct()


def _require(connection: Connection, trigger_id: str) -> Trigger:
    return trigger_in(connection.execute(select(workflow_trigger).where(c.id == trigger_id)).one())
