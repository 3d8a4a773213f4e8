"""Triggers as who fires them finds them."""

from collections.abc import Collection, Sequence
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Row, Select, select

from muster.definitions.trigger_library import secret_bytes
from muster.engine.ports import NotWritten
from muster.engine.triggering import Startable
from muster.model.trigger import TriggerStatus, TriggerType
from muster.model.workflow import WorkflowStatus
from muster.nodes.data_ports import NotConfigured
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.secrets import needed, trigger_place
from muster.store.tables import ID_LENGTH, NAME_LENGTH, workflow, workflow_trigger
from muster.store.trigger_rows import of_institute, settings_in
from muster.store.types import is_storable
from muster.store.vault import Unreadable, Vault

c = workflow_trigger.c

_log = structlog.get_logger("muster.triggers")


class StartableRepository:
    """`engine.triggering.Startables` on a database. `vault` None: there is no key that secrets can be read
    with."""

    def __init__(self, database: Database, vault: Vault | None) -> None:
        self._database, self._vault = database, vault
        self._unread = set[str]()

    async def by_id(self, trigger_id: str) -> Startable | None:
        if not is_storable(trigger_id, ID_LENGTH):
            return None
        return await self._one(c.id == trigger_id)

    async def by_path(self, path: str) -> Startable | None:
        return await self._one(c.path == path) if is_storable(path, NAME_LENGTH) else None

    async def by_event(self, institute_id: str | None, name: str) -> Sequence[Startable]:
        if not is_storable(name, NAME_LENGTH):
            return []
        return await self._startable(c.trigger_event_name == name, *of_institute(institute_id))

    async def by_topic(self, topic: str) -> Sequence[Startable]:
        if not is_storable(topic, NAME_LENGTH):
            return []
        return await self._startable(c.topic == topic)

    async def of_alerts(self, institute_id: str) -> Sequence[Startable]:
        """Those of a tenant that alerts fire, the oldest first."""
        return await self._startable(c.type == TriggerType.ALERT.value, *of_institute(institute_id))

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
