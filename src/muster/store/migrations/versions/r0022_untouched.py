"""Under which fence nothing of an execution can have begun, so that it can be moved on with the fence."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column

revision = "0022_untouched"
down_revision = "0021_archived_schedules"


def upgrade(op: Operations) -> None:
    # NULL for what is there: of what was handed on, whatever runs next may have begun.
    add_column(op, "workflow_execution", sa.Column("untouched_fence", sa.BigInteger))
