"""What nodes have done once for a key."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table
from muster.store.types import Key, UtcTime

revision = "0019_node_dedupe"
down_revision = "0018_checkpoint_seq"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "node_dedupe",
        sa.Column("hash", Key(64), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("node_id", Key(255), nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
        sa.Column("expires_at", UtcTime),
        sa.PrimaryKeyConstraint("hash"),
    )
    create_index(op, "ix_node_dedupe_visit", "node_dedupe", ["execution_id", "node_id", "visit"])
    create_index(op, "ix_node_dedupe_expires_at", "node_dedupe", ["expires_at"], "expires_at IS NOT NULL")
