"""Messages to people, and what became of them."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import Key, LongText, RowId, UtcTime

revision = "0003_deliveries"
down_revision = "0002_executions"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "delivery",
        sa.Column("id", RowId, nullable=False),
        sa.Column("key_hash", Key(64), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("node_id", Key(255), nullable=False),
        sa.Column("item_key", Key(255), nullable=False),
        institute(),
        sa.Column("channel", Key(32), nullable=False),
        sa.Column("recipient", LongText, nullable=False),
        sa.Column("subject", LongText),
        sa.Column("body", LongText),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("provider_id", Key(255)),
        sa.Column("error", LongText),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("sent_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key_hash", name="uq_delivery_key"),
    )
    create_index(op, "ix_delivery_execution", "delivery", ["execution_id"])
    create_index(op, "ix_delivery_provider_id", "delivery", ["provider_id"], where="provider_id IS NOT NULL")
    create_index(op, "ix_delivery_created_at", "delivery", ["created_at"])
