"""Replies whose schema could not be had when they came."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table
from muster.store.types import Bytes, JsonValue, Key, RowId, UtcTime

revision = "0037_replies_aside"
down_revision = "0036_traces_of_events"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "reply_aside",
        sa.Column("id", RowId, nullable=False),
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("partition", sa.Integer, nullable=False),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("key", Bytes),
        sa.Column("value", Bytes),
        sa.Column("headers", JsonValue),
        sa.Column("published_at", UtcTime, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("next_try_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("topic", "partition", "offset", name="uq_reply_aside_message"),
    )
    create_index(op, "ix_reply_aside_next_try_at", "reply_aside", ["next_try_at"])
