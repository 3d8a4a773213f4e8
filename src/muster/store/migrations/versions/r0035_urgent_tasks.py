"""External tasks are found in the order in which workers get them: the most urgent first, then the oldest."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, drop_index

revision = "0035_urgent_tasks"
down_revision = "0034_watch_horizon"


def upgrade(op: Operations) -> None:
    table, urgent = "external_task", sa.text("priority DESC")
    create_index(op, f"ix_{table}_urgent", table, ["status", "topic", urgent, "id"], "status = 'OPEN'")
    drop_index(op, f"ix_{table}_open", table)
