"""Events under business keys, and the waits that expect them."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column, create_index, create_table
from muster.store.types import JsonValue, Key, RowId, UtcTime

revision = "0027_business_keys"
down_revision = "0026_node_triggers"


def upgrade(op: Operations) -> None:
    seconds = sa.Column("buffer_seconds", sa.Integer, nullable=False, server_default=sa.text("0"))
    add_column(op, "wait_topic", seconds)
    create_table(
        op,
        "wait_key",
        sa.Column("hash", Key(64), nullable=False),
        sa.Column("wait_id", Key(36), nullable=False),
        sa.Column("event", Key(255), nullable=False),
        sa.Column("cardinality", Key(8), nullable=False),
        sa.Column("filter", JsonValue, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("hash", "wait_id", "event"),
    )
    create_index(op, "ix_wait_key_wait", "wait_key", ["wait_id"])
    create_table(
        op,
        "buffered_event",
        sa.Column("id", RowId, nullable=False),
        sa.Column("message_hash", Key(64), nullable=False),
        sa.Column("hash", Key(64), nullable=False),
        sa.Column("topic", Key(255), nullable=False),
        sa.Column("payload", JsonValue),
        sa.Column("taken", sa.Boolean, nullable=False),
        sa.Column("received_at", UtcTime, nullable=False),
        sa.Column("expires_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("message_hash", name="uq_buffered_event_message"),
    )
    create_index(op, "ix_buffered_event_hash", "buffered_event", ["hash", "taken"])
    create_index(op, "ix_buffered_event_expires_at", "buffered_event", ["expires_at"])
    create_table(
        op,
        "buffered_event_wait",
        sa.Column("event_id", sa.BigInteger, nullable=False),
        sa.Column("wait_id", Key(36), nullable=False),
        sa.PrimaryKeyConstraint("event_id", "wait_id"),
    )
