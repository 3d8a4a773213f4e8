"""Since when all is there that was watched: what was over long before has gone."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_table
from muster.store.types import Key, UtcTime

revision = "0034_watch_horizon"
down_revision = "0033_traces"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "watch_horizon",
        sa.Column("name", Key(64), nullable=False),
        sa.Column("at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
