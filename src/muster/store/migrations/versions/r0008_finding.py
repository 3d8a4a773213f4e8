"""What executions are found by: tags, values of their contexts, their status, when they changed."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table
from muster.store.types import Key

revision = "0008_finding"
down_revision = "0007_live_executions"


def upgrade(op: Operations) -> None:
    _found_by(op, "execution_tag", "tag")
    _found_by(op, "execution_search", "term")
    create_index(op, "ix_workflow_execution_updated_at", "workflow_execution", ["updated_at"])
    create_index(
        op,
        "ix_workflow_execution_status",
        "workflow_execution",
        ["status", "id"],
        where="status <> 'COMPLETED'",
    )


def _found_by(op: Operations, table: str, name: str) -> None:
    create_table(
        op,
        table,
        sa.Column(name, Key(100), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.PrimaryKeyConstraint(name, "execution_id"),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["workflow_execution.id"], name=f"fk_{table}_execution", ondelete="CASCADE"
        ),
    )
    create_index(op, f"ix_{table}_execution", table, ["execution_id"])
