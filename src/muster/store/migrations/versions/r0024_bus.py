"""The embedded bus, and how far consumers are."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table
from muster.store.types import Bytes, JsonValue, Key, UtcTime

revision = "0024_bus"
down_revision = "0023_who_is_there"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "bus_message",
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("partition", sa.Integer, nullable=False),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("key", Bytes),
        sa.Column("value", Bytes),
        sa.Column("headers", JsonValue),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("topic", "partition", "offset"),
    )
    create_index(op, "ix_bus_message_created_at", "bus_message", ["created_at"])
    create_table(
        op,
        "bus_position",
        sa.Column("group_id", Key(255), nullable=False),
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("partition", sa.Integer, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("owner", Key(255)),
        sa.Column("lease_until", UtcTime),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "topic", "partition"),
    )
    create_table(
        op,
        "bus_member",
        sa.Column("group_id", Key(255), nullable=False),
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("member", Key(255), nullable=False),
        sa.Column("lease_until", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "topic", "member"),
    )
    create_table(
        op,
        "consumer_position",
        sa.Column("group_id", Key(255), nullable=False),
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("partition", sa.Integer, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "topic", "partition"),
    )
