"""The traces that executions belong to."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column
from muster.store.types import Key

revision = "0033_traces"
down_revision = "0032_external_tasks"


def upgrade(op: Operations) -> None:
    add_column(op, "workflow_execution", sa.Column("trace_parent", Key(55)))
