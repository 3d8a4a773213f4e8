"""Schedules, and executions by what has started them."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import Key, LongText, UtcTime

revision = "0015_schedules"
down_revision = "0014_sessions"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "workflow_schedule",
        sa.Column("id", Key(36), nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        institute(),
        sa.Column("origin", Key(32), nullable=False),
        sa.Column("schedule_type", Key(32), nullable=False),
        sa.Column("cron_expression", LongText),
        sa.Column("interval_minutes", sa.Integer),
        sa.Column("day_of_month", sa.Integer),
        sa.Column("time", Key(32)),
        sa.Column("timezone", Key(255), nullable=False),
        sa.Column("start_date", Key(64)),
        sa.Column("end_date", Key(64)),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("declared_status", Key(32), nullable=False),
        sa.Column("misfire", Key(32), nullable=False),
        sa.Column("overlap", Key(32), nullable=False),
        sa.Column("pause_after_failures", sa.Integer),
        sa.Column("next_run_at", UtcTime),
        sa.Column("last_run_at", UtcTime),
        sa.Column("last_error", LongText),
        sa.Column("last_skipped_at", UtcTime),
        sa.Column("last_skip_reason", Key(32)),
        sa.Column("activated_at", UtcTime, nullable=False),
        sa.Column("lease_until", UtcTime),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflow.id"], name="fk_workflow_schedule_workflow"),
    )
    due = "status = 'ACTIVE'"
    create_index(op, "ix_workflow_schedule_next_run_at", "workflow_schedule", ["next_run_at"], due)
    create_index(op, "ix_workflow_schedule_workflow", "workflow_schedule", ["workflow_id", "id"])
    started = "trigger_id IS NOT NULL"
    create_index(op, "ix_workflow_execution_trigger", "workflow_execution", ["trigger_id", "id"], started)
