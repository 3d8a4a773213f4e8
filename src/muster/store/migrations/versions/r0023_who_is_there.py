"""Which instances are there."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_table
from muster.store.types import JsonValue, Key, UtcTime

revision = "0023_who_is_there"
down_revision = "0022_untouched"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "instance",
        sa.Column("name", Key(255), nullable=False),
        sa.Column("incarnation", Key(36), nullable=False),
        sa.Column("host", Key(255), nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("roles", JsonValue, nullable=False),
        sa.Column("version", Key(255), nullable=False),
        sa.Column("driving", sa.Integer, nullable=False),
        sa.Column("leaving", sa.Boolean, nullable=False),
        sa.Column("started_at", UtcTime, nullable=False),
        sa.Column("heartbeat_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("name", "incarnation"),
    )
