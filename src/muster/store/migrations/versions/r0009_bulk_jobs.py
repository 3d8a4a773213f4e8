"""Bulk jobs and their items."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, LongText, UtcTime

revision = "0009_bulk_jobs"
down_revision = "0008_finding"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "bulk_job",
        sa.Column("id", Key(36), nullable=False),
        sa.Column("target", Key(32), nullable=False),
        sa.Column("action", Key(32), nullable=False),
        sa.Column("filter", JsonValue),
        sa.Column("options", JsonValue, nullable=False),
        sa.Column("reason", LongText, nullable=False),
        sa.Column("actor", Key(255), nullable=False),
        institute(),
        sa.Column("every_institute", sa.Boolean, nullable=False),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("owner", Key(255)),
        sa.Column("lease_until", UtcTime),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.Column("completed_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index(op, "ix_bulk_job_status", "bulk_job", ["status", "updated_at"])
    create_table(
        op,
        "bulk_job_item",
        sa.Column("job_id", Key(36), nullable=False),
        sa.Column("item_id", Key(255), nullable=False),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("reason", LongText),
        sa.Column("result", JsonValue),
        sa.Column("completed_at", UtcTime),
        sa.PrimaryKeyConstraint("job_id", "item_id"),
        sa.ForeignKeyConstraint(["job_id"], ["bulk_job.id"], name="fk_bulk_job_item_job"),
    )
    create_index(op, "ix_bulk_job_item_status", "bulk_job_item", ["job_id", "status", "item_id"])
