"""Work that is offered to workers elsewhere."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, LongText, UtcTime

revision = "0032_external_tasks"
down_revision = "0031_boards"


def upgrade(op: Operations) -> None:
    table = "external_task"
    create_table(
        op,
        table,
        sa.Column("id", Key(36), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("node_id", Key(255), nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        institute(),
        sa.Column("topic", Key(255), nullable=False),
        sa.Column("priority", sa.BigInteger, nullable=False),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("worker_id", Key(255)),
        sa.Column("lock_until", UtcTime),
        sa.Column("lock_ms", sa.BigInteger),
        sa.Column("retries", sa.Integer),
        sa.Column("variables", JsonValue, nullable=False),
        sa.Column("error_message", LongText),
        sa.Column("error_details", LongText),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("expires_at", UtcTime),
        sa.Column("completed_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["execution_id"],
            ["workflow_execution.id"],
            name="fk_external_task_execution",
            ondelete="CASCADE",
        ),
    )
    create_index(op, f"ix_{table}_open", table, ["status", "topic", "priority", "id"], "status = 'OPEN'")
    create_index(op, f"ix_{table}_visit", table, ["execution_id", "node_id", "visit"])
    create_index(op, f"ix_{table}_listed", table, ["institute_id", "status", "id"])
