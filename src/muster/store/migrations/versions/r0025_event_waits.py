"""Waits for events, where they look for their ids, and what came close to one."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, RowId, UtcTime

revision = "0025_event_waits"
down_revision = "0024_bus"


def upgrade(op: Operations) -> None:
    _waits(op)
    create_table(
        op,
        "wait_topic",
        sa.Column("topic", Key(249), nullable=False),
        sa.Column("correlation_field", Key(255), nullable=False),
        sa.Column("execution_field", Key(255), nullable=False),
        sa.PrimaryKeyConstraint("topic", "correlation_field", "execution_field"),
    )
    create_table(
        op,
        "near_miss",
        sa.Column("id", RowId, nullable=False),
        sa.Column("source", Key(32), nullable=False),
        sa.Column("topic", Key(255)),
        sa.Column("execution_id", Key(255), nullable=False),
        sa.Column("correlation_id", Key(255), nullable=False),
        sa.Column("reason", Key(32), nullable=False),
        sa.Column("payload", JsonValue),
        sa.Column("received_at", UtcTime, nullable=False),
        sa.Column("applied_to", Key(36)),
        sa.Column("applied_by", Key(255)),
        sa.Column("event", Key(255)),
        sa.Column("wait_id", Key(36)),
        institute(),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index(op, "ix_near_miss_execution", "near_miss", ["execution_id"])
    create_index(op, "ix_near_miss_wait", "near_miss", ["wait_id"])
    create_index(op, "ix_near_miss_received_at", "near_miss", ["received_at"])


def _waits(op: Operations) -> None:
    table = "execution_wait_states"
    create_table(
        op,
        table,
        sa.Column("id", Key(36), nullable=False),
        sa.Column("execution_id", Key(36), nullable=False),
        sa.Column("node_id", Key(255), nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("correlation_id", Key(255), nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        institute(),
        sa.Column("aggregation_strategy", Key(50), nullable=False),
        sa.Column("required_events", JsonValue),
        sa.Column("enabled_events", JsonValue),
        sa.Column("needed_events", JsonValue),
        sa.Column("config", JsonValue, nullable=False),
        sa.Column("api_call_enabled", sa.Boolean, nullable=False),
        sa.Column("kafka_event_enabled", sa.Boolean, nullable=False),
        sa.Column("api_call_response", JsonValue),
        sa.Column("api_response_data", JsonValue),
        sa.Column("kafka_event_data", JsonValue),
        sa.Column("received_events", JsonValue),
        sa.Column("events", JsonValue),
        sa.Column("status", Key(50), nullable=False),
        sa.Column("resumed_at", UtcTime),
        sa.Column("resumed_by", Key(255)),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("near_misses", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.Column("expires_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("execution_id", "node_id", "visit", name="uq_execution_wait_states_visit"),
        sa.ForeignKeyConstraint(
            ["execution_id"],
            ["workflow_execution.id"],
            name="fk_execution_wait_states_execution",
            ondelete="CASCADE",
        ),
    )
    waiting = "status = 'waiting'"
    create_index(op, f"ix_{table}_correlation", table, ["correlation_id", "execution_id"])
    create_index(op, f"ix_{table}_status", table, ["status"], waiting)
    create_index(op, f"ix_{table}_expires_at", table, ["expires_at"], waiting)
    create_index(op, f"ix_{table}_listed", table, ["institute_id", "status", "id"])
