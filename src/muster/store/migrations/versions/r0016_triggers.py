"""Triggers: what starts workflows from outside."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, LongText, UtcTime

revision = "0016_triggers"
down_revision = "0015_schedules"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "workflow_trigger",
        sa.Column("id", Key(36), nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        sa.Column("type", Key(32), nullable=False),
        sa.Column("trigger_event_name", Key(255)),
        sa.Column("topic", Key(255)),
        sa.Column("path", Key(255)),
        sa.Column("secrets", JsonValue, nullable=False),
        sa.Column("filter", JsonValue),
        sa.Column("condition", LongText),
        sa.Column("authentication", Key(32), nullable=False),
        sa.Column("idempotency_generation_setting", JsonValue),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("node_key", Key(255)),
        sa.Column("version", sa.Integer, nullable=False),
        institute(),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("path", name="uq_workflow_trigger_path"),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflow.id"], name="fk_workflow_trigger_workflow"),
    )
    create_index(op, "ix_workflow_trigger_event_name", "workflow_trigger", ["trigger_event_name"])
    create_index(op, "ix_workflow_trigger_topic", "workflow_trigger", ["topic"])
    create_index(op, "ix_workflow_trigger_workflow", "workflow_trigger", ["workflow_id"])
