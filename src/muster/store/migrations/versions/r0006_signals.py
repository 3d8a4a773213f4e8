"""Where in an execution's history a signal was taken."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column

revision = "0006_signals"
down_revision = "0005_dead_letters"


def upgrade(op: Operations) -> None:
    add_column(op, "execution_signal", sa.Column("seq", sa.Integer))
