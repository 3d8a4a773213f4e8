"""Finding what is live among all that has ended."""

from alembic.operations import Operations

from muster.store.migrations.ddl import create_index

revision = "0007_live_executions"
down_revision = "0006_signals"


def upgrade(op: Operations) -> None:
    create_index(
        op,
        "ix_workflow_execution_live",
        "workflow_execution",
        ["completed_at"],
        where="completed_at IS NULL",
    )
