"""Large answers beside the execution that they are for."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column
from muster.store.types import JsonValue

revision = "0013_answers_aside"
down_revision = "0012_idempotency"


def upgrade(op: Operations) -> None:
    add_column(op, "execution_signal", sa.Column("aside", JsonValue))
