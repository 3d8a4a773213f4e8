"""When instances have started."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table
from muster.store.types import Key, UtcTime

revision = "0017_instances"
down_revision = "0016_triggers"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "instance_start",
        sa.Column("owner", Key(255), nullable=False),
        sa.Column("started_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("owner"),
    )
    create_index(op, "ix_instance_start_started_at", "instance_start", ["started_at"])
