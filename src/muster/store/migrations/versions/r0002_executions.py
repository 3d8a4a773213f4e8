"""Executions, their journal, and what reaches them from outside."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, LongText, RowId, UtcTime

revision = "0002_executions"
down_revision = "0001_library"


def upgrade(op: Operations) -> None:
    _executions(op)
    _journal(op)
    _signals(op)


def _executions(op: Operations) -> None:
    create_table(
        op,
        "workflow_execution",
        sa.Column("id", Key(36), nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False),
        sa.Column("trigger_id", Key(36)),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("idempotency_key", LongText),
        sa.Column("given", JsonValue, nullable=False),
        sa.Column("context", JsonValue, nullable=False),
        sa.Column("state", JsonValue),
        sa.Column("output", JsonValue),
        sa.Column("current_node_id", Key(255)),
        sa.Column("resume_at", UtcTime),
        sa.Column("resumed_at", UtcTime),
        sa.Column("resumed_by", Key(255)),
        sa.Column("owner", Key(255)),
        sa.Column("lease_until", UtcTime),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("takeovers", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("parent_execution_id", Key(36)),
        sa.Column("tags", JsonValue),
        sa.Column("error_type", Key(255)),
        sa.Column("error_message", LongText),
        institute(),
        sa.Column("started_at", UtcTime, nullable=False),
        sa.Column("completed_at", UtcTime),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["workflow_version_id"], ["workflow_version.id"], name="fk_workflow_execution_version"
        ),
    )
    for column in ("resume_at", "lease_until", "owner"):
        name = f"ix_workflow_execution_{column}"
        create_index(op, name, "workflow_execution", [column], where=f"{column} IS NOT NULL")
    create_index(op, "ix_workflow_execution_workflow", "workflow_execution", ["workflow_id", "id"])


def _journal(op: Operations) -> None:
    create_table(
        op,
        "node_execution",
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("node_id", Key(255), nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("item_key", Key(255), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("input", JsonValue),
        sa.Column("output", JsonValue),
        sa.Column("changes", JsonValue),
        sa.Column("error", JsonValue),
        sa.Column("warnings", JsonValue),
        sa.Column("due_at", UtcTime),
        sa.Column("started_at", UtcTime, nullable=False),
        sa.Column("completed_at", UtcTime),
        sa.PrimaryKeyConstraint("execution_id", "node_id", "visit", "item_key"),
    )


def _signals(op: Operations) -> None:
    create_table(
        op,
        "execution_signal",
        sa.Column("id", RowId, nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("kind", Key(32), nullable=False),
        sa.Column("payload", JsonValue, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index(op, "ix_execution_signal_execution", "execution_signal", ["execution_id"])
