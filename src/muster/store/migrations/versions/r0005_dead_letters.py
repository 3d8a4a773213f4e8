"""What could not be brought to its end, and who tried."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, LongText, RowId, UtcTime

revision = "0005_dead_letters"
down_revision = "0004_registries"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "execution_takeover",
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("owner", Key(255), nullable=False),
        sa.Column("taken_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("execution_id", "fence"),
    )
    create_table(
        op,
        "dead_letter",
        sa.Column("id", RowId, nullable=False),
        sa.Column("kind", Key(32), nullable=False),
        sa.Column("source", Key(255), nullable=False),
        sa.Column("key", Key(255), nullable=False),
        sa.Column("value", JsonValue),
        sa.Column("headers", JsonValue),
        sa.Column("error_type", Key(255), nullable=False),
        sa.Column("error_message", LongText, nullable=False),
        sa.Column("attempts", JsonValue, nullable=False),
        sa.Column("status", Key(32), nullable=False),
        institute(),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("resolved_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index(op, "ix_dead_letter_key", "dead_letter", ["kind", "key"])
    create_index(op, "ix_dead_letter_status", "dead_letter", ["status", "id"])
