"""How often people have changed a schedule, so that nobody undoes what they have not seen."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column

revision = "0020_schedule_version"
down_revision = "0019_node_dedupe"


def upgrade(op: Operations) -> None:
    column = sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1"))
    add_column(op, "workflow_schedule", column)
