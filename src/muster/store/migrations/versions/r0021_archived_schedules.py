"""Which schedules went off with their workflow, so that they go on with it again."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column
from muster.store.types import UtcTime

revision = "0021_archived_schedules"
down_revision = "0020_schedule_version"


def upgrade(op: Operations) -> None:
    # NULL for what is there: who has switched it off is not known, so it stays off.
    add_column(op, "workflow_schedule", sa.Column("archived_at", UtcTime))
