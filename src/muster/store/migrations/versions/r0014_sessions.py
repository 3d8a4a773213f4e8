"""Finding what a key has begun."""

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0014_sessions"
down_revision = "0013_answers_aside"


def upgrade(op: Operations) -> None:
    has_key = sa.text("idempotency_key IS NOT NULL")
    op.create_index(
        "ix_workflow_execution_idempotency_key",
        "workflow_execution",
        ["idempotency_key"],
        postgresql_using="hash",
        mariadb_length=100,
        postgresql_where=has_key,
        sqlite_where=has_key,
        if_not_exists=op.get_bind().dialect.name == "mariadb" or None,
    )
