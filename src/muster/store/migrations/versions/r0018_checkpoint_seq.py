"""How far a checkpoint reaches, so that of the journal only what came after it is read."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column

revision = "0018_checkpoint_seq"
down_revision = "0017_instances"


def upgrade(op: Operations) -> None:
    # 0 for what is there: its whole journal is read once more.
    column = sa.Column("checkpoint_seq", sa.Integer, nullable=False, server_default=sa.text("0"))
    add_column(op, "workflow_execution", column)
