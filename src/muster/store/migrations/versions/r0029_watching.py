"""What is watched: events, runs and what they expect, counts, alerts."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, RowId, UtcTime

revision = "0029_watching"
down_revision = "0028_outbox"


def upgrade(op: Operations) -> None:
    _events(op)
    _counts(op)
    _alerts(op)
    _bookkeeping(op)


def _events(op: Operations) -> None:
    create_table(
        op,
        "event_raw",
        sa.Column("id", RowId, nullable=False),
        institute(),
        sa.Column("source_system", Key(255), nullable=False),
        sa.Column("source_event_id", Key(255), nullable=False),
        sa.Column("event_type", Key(255), nullable=False),
        sa.Column("event_time", UtcTime, nullable=False),
        sa.Column("received_at", UtcTime, nullable=False),
        sa.Column("correlation_key", Key(255), nullable=False),
        sa.Column("workflow_keys", JsonValue),
        sa.Column("event_group", JsonValue),
        sa.Column("payload", JsonValue),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("institute_id", "source_system", "source_event_id", name="uq_event_raw_source"),
    )
    create_index(op, "ix_event_raw_received_at", "event_raw", ["received_at"])
    create_table(
        op,
        "workflow_run",
        sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False),
        sa.Column("correlation_key", Key(255), nullable=False),
        sa.Column("run_no", sa.Integer, nullable=False),
        institute(),
        sa.Column("status", Key(16), nullable=False),
        sa.Column("last_node_key", Key(255)),
        sa.Column("group_dims", JsonValue),
        sa.Column("group_dim_hash", Key(64), nullable=False),
        sa.Column("state", JsonValue),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("started_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.Column("finished_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(
            "workflow_version_id", "correlation_key", "run_no", name="uq_workflow_run_number"
        ),
    )
    create_index(op, "ix_workflow_run_correlation_key", "workflow_run", ["correlation_key"])
    create_index(op, "ix_workflow_run_finished_at", "workflow_run", ["workflow_version_id", "finished_at"])
    create_table(
        op,
        "event_occurrence",
        sa.Column("id", RowId, nullable=False),
        sa.Column("workflow_run_id", sa.BigInteger, nullable=False),
        sa.Column("node_key", Key(255), nullable=False),
        sa.Column("source_system", Key(255), nullable=False),
        sa.Column("event_id", Key(255), nullable=False),
        sa.Column("event_time", UtcTime, nullable=False),
        sa.Column("received_at", UtcTime, nullable=False),
        sa.Column("late", sa.Boolean, nullable=False),
        sa.Column("counted_late", sa.Boolean, nullable=False),
        sa.Column("duplicate", sa.Boolean, nullable=False),
        sa.Column("order_violation", sa.Boolean, nullable=False),
        sa.Column("clamped", sa.Boolean, nullable=False),
        sa.Column("payload_excerpt", JsonValue),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workflow_run_id", "source_system", "event_id", name="uq_event_occurrence_event"),
    )
    create_table(
        op,
        "expectation",
        sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("workflow_run_id", sa.BigInteger, nullable=False),
        sa.Column("from_node_key", Key(255), nullable=False),
        sa.Column("to_node_key", Key(255), nullable=False),
        sa.Column("due_at", UtcTime, nullable=False),
        sa.Column("severity", Key(16), nullable=False),
        sa.Column("status", Key(16), nullable=False),
        sa.Column("optional", sa.Boolean, nullable=False),
        sa.Column("origin_id", sa.BigInteger, nullable=False),
        sa.Column("leads", sa.Boolean, nullable=False),
        sa.Column("lock_owner", Key(255)),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("fired_at", UtcTime),
        sa.Column("cleared_at", UtcTime),
        sa.Column("abandoned_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index(op, "ix_expectation_due", "expectation", ["status", "due_at"], "status <> 'cleared'")
    create_index(op, "ix_expectation_run", "expectation", ["workflow_run_id"])


def _counts(op: Operations) -> None:
    for name in ("stage_aggregate", "stage_aggregate_hour", "stage_aggregate_day"):
        create_table(
            op,
            name,
            sa.Column("workflow_version_id", sa.BigInteger, nullable=False, autoincrement=False),
            sa.Column("group_dim_hash", Key(64), nullable=False),
            sa.Column("node_key", Key(255), nullable=False),
            sa.Column("bucket_start", UtcTime, nullable=False),
            sa.Column("in_flight", sa.BigInteger, nullable=False),
            sa.Column("completed", sa.BigInteger, nullable=False),
            sa.Column("late", sa.BigInteger, nullable=False),
            sa.Column("failed", sa.BigInteger, nullable=False),
            sa.PrimaryKeyConstraint("workflow_version_id", "group_dim_hash", "node_key", "bucket_start"),
        )
    create_table(
        op,
        "stage_group",
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("group_dim_hash", Key(64), nullable=False),
        sa.Column("group_dims", JsonValue),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("workflow_version_id", "group_dim_hash"),
    )


def _alerts(op: Operations) -> None:
    create_table(
        op,
        "alert",
        sa.Column("id", RowId, nullable=False),
        sa.Column("dedupe_key", Key(600), nullable=False),
        institute(),
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False),
        sa.Column("workflow_run_id", sa.BigInteger),
        sa.Column("node_key", Key(255), nullable=False),
        sa.Column("correlation_key", Key(255), nullable=False),
        sa.Column("group_dim_hash", Key(64), nullable=False),
        sa.Column("severity", Key(16), nullable=False),
        sa.Column("reason", Key(64), nullable=False),
        sa.Column("state", Key(16), nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("first_triggered_at", UtcTime, nullable=False),
        sa.Column("last_triggered_at", UtcTime, nullable=False),
        sa.Column("acked_by", Key(255)),
        sa.Column("suppressed_until", UtcTime),
        sa.Column("resolved_at", UtcTime),
        sa.Column("incident_id", sa.BigInteger),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dedupe_key", name="uq_alert_dedupe_key"),
    )
    create_index(op, "ix_alert_incident", "alert", ["incident_id"], "incident_id IS NULL")
    create_index(op, "ix_alert_run", "alert", ["workflow_run_id"])
    create_index(op, "ix_alert_state", "alert", ["state", "id"])
    create_table(
        op,
        "incident",
        sa.Column("id", RowId, nullable=False),
        institute(),
        sa.Column("open_key", Key(64)),
        sa.Column("workflow_id", Key(36), nullable=False),
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False),
        sa.Column("node_key", Key(255), nullable=False),
        sa.Column("group_dim_hash", Key(64)),
        sa.Column("reason", Key(64), nullable=False),
        sa.Column("severity", Key(16), nullable=False),
        sa.Column("state", Key(16), nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("first_triggered_at", UtcTime, nullable=False),
        sa.Column("last_triggered_at", UtcTime, nullable=False),
        sa.Column("notified_at", UtcTime),
        sa.Column("resolved_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("open_key", name="uq_incident_open_key"),
    )
    create_index(op, "ix_incident_state", "incident", ["state", "id"])


def _bookkeeping(op: Operations) -> None:
    create_table(
        op,
        "expected_start",
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("node_key", Key(255), nullable=False),
        sa.Column("next_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("workflow_version_id", "node_key"),
    )
    create_index(op, "ix_expected_start_next_at", "expected_start", ["next_at"])
    create_table(
        op,
        "watch_presence",
        sa.Column("name", Key(64), nullable=False),
        sa.Column("seen_at", UtcTime, nullable=False),
        sa.Column("gap_from", UtcTime),
        sa.Column("returned_at", UtcTime),
        sa.Column("caught_up_at", UtcTime),
        sa.PrimaryKeyConstraint("name"),
    )
    create_table(
        op,
        "watch_sequence",
        sa.Column("name", Key(64), nullable=False),
        sa.Column("next_id", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
