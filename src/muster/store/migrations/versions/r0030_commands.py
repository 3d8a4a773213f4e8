"""Commands on the bus, and where their replies come from."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import Bytes, JsonValue, Key, LongText, UtcTime

revision = "0030_commands"
down_revision = "0029_watching"


def upgrade(op: Operations) -> None:
    table = "workflow_kafka_commands"
    create_table(
        op,
        table,
        sa.Column("id", Key(36), nullable=False),
        sa.Column("workflow_instance_id", Key(36), nullable=False),
        sa.Column("step_id", Key(255), nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        institute(),
        sa.Column("correlation_id", Key(36), nullable=False),
        sa.Column("compensates", Key(36)),
        sa.Column("command_topic", Key(249), nullable=False),
        sa.Column("command_payload", JsonValue),
        sa.Column("command_headers", JsonValue),
        sa.Column("command_key", Bytes),
        sa.Column("command_value", Bytes),
        sa.Column("reply_topic", Key(249), nullable=False),
        sa.Column("reply_schema", JsonValue),
        sa.Column("reply_payload", JsonValue),
        sa.Column("reply_headers", JsonValue),
        sa.Column("reply_received_at", UtcTime),
        sa.Column("late", sa.Boolean, nullable=False),
        sa.Column("sent_at", UtcTime),
        sa.Column("timeout_at", UtcTime),
        sa.Column("timeout_ms", sa.BigInteger, nullable=False),
        sa.Column("completed_at", UtcTime),
        sa.Column("status", Key(50), nullable=False),
        sa.Column("error_message", LongText),
        sa.Column("dlq_topic", Key(249)),
        sa.Column("dlq_sent_at", UtcTime),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("correlation_id", name="uq_workflow_kafka_commands_correlation"),
        sa.ForeignKeyConstraint(
            ["workflow_instance_id"],
            ["workflow_execution.id"],
            name="fk_workflow_kafka_commands_execution",
            ondelete="CASCADE",
        ),
    )
    create_index(op, f"ix_{table}_execution", table, ["workflow_instance_id", "step_id", "visit"])
    create_index(op, f"ix_{table}_status", table, ["status", "id"])
    create_index(op, f"ix_{table}_timeout_at", table, ["timeout_at"], "status = 'SENT'")
    create_index(op, f"ix_{table}_listed", table, ["institute_id", "id"])
    create_table(
        op,
        "reply_topic",
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("correlation_field", Key(255), nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("topic", "correlation_field"),
    )
