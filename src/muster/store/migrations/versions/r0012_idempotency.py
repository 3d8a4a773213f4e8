"""Keys of starts: which execution has each."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table
from muster.store.types import Key, UtcTime

revision = "0012_idempotency"
down_revision = "0011_waits"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "idempotency_key",
        sa.Column("hash", Key(64), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("expires_at", UtcTime),
        sa.PrimaryKeyConstraint("hash"),
    )
    create_index(
        op, "ix_idempotency_key_expires_at", "idempotency_key", ["expires_at"], "expires_at IS NOT NULL"
    )
