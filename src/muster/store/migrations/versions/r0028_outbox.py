"""Messages on their way to the bus."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import Bytes, JsonValue, Key, LongText, RowId, UtcTime

revision = "0028_outbox"
down_revision = "0027_business_keys"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "outbox_message",
        sa.Column("id", RowId, nullable=False),
        sa.Column("message_id", Key(36), nullable=False),
        institute(),
        sa.Column("stream", Key(64), nullable=False),
        sa.Column("seq", sa.BigInteger),
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("key", Bytes),
        sa.Column("headers", JsonValue),
        sa.Column("value", Bytes),
        sa.Column("reference", Key(255)),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("published_at", UtcTime),
        sa.Column("error", LongText),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("message_id", name="uq_outbox_message_message"),
        sa.UniqueConstraint("stream", "seq", name="uq_outbox_message_seq"),
    )
    waiting = "published_at IS NULL"
    create_index(op, "ix_outbox_message_waiting", "outbox_message", ["stream", "seq", "id"], waiting)
    published = "published_at IS NOT NULL"
    create_index(op, "ix_outbox_message_published_at", "outbox_message", ["published_at"], published)
    create_table(
        op,
        "outbox_stream",
        sa.Column("stream", Key(64), nullable=False),
        sa.Column("name", Key(255), nullable=False),
        sa.Column("next_seq", sa.BigInteger, nullable=False),
        sa.Column("published_seq", sa.BigInteger, nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("owner", Key(255)),
        sa.Column("lease_until", UtcTime),
        sa.Column("problem", LongText),
        sa.PrimaryKeyConstraint("stream"),
    )
