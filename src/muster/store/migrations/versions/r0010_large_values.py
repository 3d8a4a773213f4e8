"""Large values beside their execution, and where they belong."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column, create_table
from muster.store.types import Bytes, JsonValue, Key

revision = "0010_large_values"
down_revision = "0009_bulk_jobs"


def upgrade(op: Operations) -> None:
    add_column(op, "workflow_execution", sa.Column("aside", JsonValue))
    add_column(op, "workflow_execution", sa.Column("given_aside", JsonValue))
    add_column(op, "node_execution", sa.Column("aside", JsonValue))
    create_table(
        op,
        "large_value",
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("sha256", Key(64), nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("data", Bytes, nullable=False),
        sa.PrimaryKeyConstraint("execution_id", "sha256", "part"),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["workflow_execution.id"], name="fk_large_value_execution", ondelete="CASCADE"
        ),
    )
