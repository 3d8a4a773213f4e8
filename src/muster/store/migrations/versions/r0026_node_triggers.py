"""The triggers of nodes, for workflows that were activated before there were any."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations

from muster.definitions.document import nodes_of
from muster.definitions.trigger_settings import trigger_id, triggers_in
from muster.model.json import JsonObject
from muster.model.trigger import TriggerSettings
from muster.store.types import JsonValue, UtcTime

revision = "0026_node_triggers"
down_revision = "0025_event_waits"

# As the tables are at this revision.
WORKFLOW = sa.table("workflow", *map(sa.column, ("id", "status", "active_version_id", "institute_id")))
VERSION = sa.table("workflow_version", sa.column("id"), sa.column("definition", JsonValue()))
TRIGGER = sa.table(
    "workflow_trigger",
    *map(sa.column, ("id", "workflow_id", "institute_id", "node_key", "type", "trigger_event_name", "topic")),
    *map(sa.column, ("path", "condition", "authentication", "status", "version")),
    *(sa.column(name, JsonValue()) for name in ("secrets", "filter", "idempotency_generation_setting")),
    *(sa.column(name, UtcTime()) for name in ("created_at", "updated_at")),
)


def upgrade(op: Operations) -> None:
    connection = op.get_bind()
    at = datetime.now(UTC)
    has_some = sa.select(TRIGGER.c.workflow_id).where(TRIGGER.c.node_key.is_not(None))
    active = (
        sa.select(WORKFLOW.c.id, WORKFLOW.c.institute_id, WORKFLOW.c.active_version_id)
        .where(WORKFLOW.c.status == "ACTIVE", WORKFLOW.c.active_version_id.is_not(None))
        .where(WORKFLOW.c.id.not_in(has_some))
        .order_by(WORKFLOW.c.id)
    )
    taken = set(connection.scalars(sa.select(TRIGGER.c.path).where(TRIGGER.c.path.is_not(None))))
    for workflow in connection.execute(active).all():
        version = sa.select(VERSION.c.definition).where(VERSION.c.id == workflow.active_version_id)
        for node, settings in _triggers(connection.scalar(version)):
            # The first that was made has a path; who activates the other is told that it is taken.
            if settings.path is None or settings.path not in taken:
                taken.add(settings.path)
                connection.execute(sa.insert(TRIGGER).values(_row(workflow, node, settings, at)))


def _triggers(document: JsonObject | None) -> Iterator[tuple[str, TriggerSettings]]:
    try:
        found = triggers_in(nodes_of(document or {}))
    except (KeyError, TypeError, ValueError):
        return  # what cannot be read cannot be started either, and keeps nobody from the new version
    yield from found.items()


def _row(workflow: Any, node: str, settings: TriggerSettings, at: datetime) -> dict[str, object]:
    return {
        "id": trigger_id(workflow.id, node),
        "workflow_id": workflow.id,
        "institute_id": workflow.institute_id,
        "node_key": node,
        "type": settings.type.value,
        "trigger_event_name": settings.event_name,
        "topic": settings.topic,
        "path": settings.path,
        "filter": settings.filter,
        "condition": settings.condition,
        "authentication": settings.authentication.value,
        "idempotency_generation_setting": settings.idempotency,
        "status": settings.status.value,
        "secrets": [],
        "version": 1,
        "created_at": at,
        "updated_at": at,
    }
