"""What executions wait for: children and people; and how many of them run at once."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column, create_index, create_table, institute
from muster.store.types import JsonValue, Key, LongText, UtcTime

revision = "0011_waits"
down_revision = "0010_large_values"


def upgrade(op: Operations) -> None:
    depth = sa.Column("depth", sa.Integer, nullable=False, server_default=sa.text("0"))
    add_column(op, "workflow_execution", depth)
    create_table(
        op,
        "execution_child",
        sa.Column("child_execution_id", Key(36), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("node_id", Key(255), nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("item_key", Key(255), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("held", sa.Boolean, nullable=False),
        sa.Column("stops", sa.Boolean, nullable=False),
        sa.Column("concurrency_key", Key(64)),
        sa.Column("concurrency_limit", sa.Integer),
        sa.PrimaryKeyConstraint("child_execution_id"),
    )
    visit = ["execution_id", "node_id", "visit"]
    create_index(op, "ix_execution_child_visit", "execution_child", [*visit, "held", "place"])
    create_table(
        op,
        "execution_limit",
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        sa.Column("concurrency_key", Key(64), nullable=False),
        sa.Column("concurrency_limit", sa.Integer, nullable=False),
        sa.Column("queued", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("execution_id"),
    )
    create_index(
        op, "ix_execution_limit_key", "execution_limit", ["concurrency_key", "queued", "execution_id"]
    )
    create_table(
        op,
        "approval",
        sa.Column("id", Key(36), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("node_id", Key(255), nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        institute(),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("title", LongText),
        sa.Column("message", LongText),
        sa.Column("assignees", JsonValue, nullable=False),
        sa.Column("form_schema", JsonValue),
        sa.Column("form", JsonValue),
        sa.Column("reason", LongText),
        sa.Column("decided_by", Key(255)),
        sa.Column("decided_at", UtcTime),
        sa.Column("expires_at", UtcTime),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index(op, "ix_approval_visit", "approval", visit)
    create_index(op, "ix_approval_status", "approval", ["institute_id", "status", "id"])
    create_table(
        op,
        "approval_assignee",
        sa.Column("assignee", Key(255), nullable=False),
        sa.Column("approval_id", Key(36), nullable=False),
        sa.PrimaryKeyConstraint("assignee", "approval_id"),
        sa.ForeignKeyConstraint(["approval_id"], ["approval.id"], name="fk_approval_assignee_approval"),
    )
