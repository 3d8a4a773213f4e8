"""The traces that events belong to which waits take later: under business keys, or by hand."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column
from muster.store.types import Key

revision = "0036_traces_of_events"
down_revision = "0035_urgent_tasks"


def upgrade(op: Operations) -> None:
    for table in ("buffered_event", "near_miss"):
        add_column(op, table, sa.Column("trace_parent", Key(55)))
