"""What starts executions: triggers, schedules, and the keys that let one begin once."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    UniqueConstraint,
)

from muster.store.tables.shared import (
    ID_LENGTH,
    NAME_LENGTH,
    index_where,
    index_where_set,
    institute,
    new_table,
)
from muster.store.types import JsonValue, Key, LongText, UtcTime

# One that came from a definition has the key of its node.
workflow_trigger = new_table(
    "workflow_trigger",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    Column("type", Key(32), nullable=False),
    Column("trigger_event_name", Key(NAME_LENGTH)),
    Column("topic", Key(NAME_LENGTH)),
    Column("path", Key(NAME_LENGTH)),
    # Those that are valid, encrypted, the newest first.
    Column("secrets", JsonValue, nullable=False),
    Column("filter", JsonValue),
    Column("condition", LongText),
    Column("authentication", Key(32), nullable=False),
    Column("idempotency_generation_setting", JsonValue),
    Column("status", Key(32), nullable=False),
    Column("node_key", Key(NAME_LENGTH)),
    Column("version", Integer, nullable=False),
    institute(),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    # Whoever calls a path names no institute, so it can be only one's.
    UniqueConstraint("path", name="uq_workflow_trigger_path"),
    ForeignKeyConstraint(["workflow_id"], ["workflow.id"], name="fk_workflow_trigger_workflow"),
    # Whom an event concerns, by its name or its topic.
    Index("ix_workflow_trigger_event_name", "trigger_event_name"),
    Index("ix_workflow_trigger_topic", "topic"),
    Index("ix_workflow_trigger_workflow", "workflow_id"),
)

workflow_schedule = new_table(
    "workflow_schedule",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    institute(),
    # `definition`: replaced when a version is activated; `api`.
    Column("origin", Key(32), nullable=False),
    Column("schedule_type", Key(32), nullable=False),
    Column("cron_expression", LongText),
    Column("interval_minutes", Integer),
    Column("day_of_month", Integer),
    Column("time", Key(32)),
    Column("timezone", Key(NAME_LENGTH), nullable=False),
    # As they were written: without an offset they are local to the zone.
    Column("start_date", Key(64)),
    Column("end_date", Key(64)),
    Column("status", Key(32), nullable=False),
    # What the definition says of it, whoever has switched it since.
    Column("declared_status", Key(32), nullable=False),
    Column("misfire", Key(32), nullable=False),
    Column("overlap", Key(32), nullable=False),
    Column("pause_after_failures", Integer),
    # The first occurrence that is not settled; NULL: it is off.
    Column("next_run_at", UtcTime),
    Column("last_run_at", UtcTime),
    Column("last_error", LongText),
    Column("last_skipped_at", UtcTime),
    Column("last_skip_reason", Key(32)),
    Column("activated_at", UtcTime, nullable=False),
    # Until then somebody is busy with it.
    Column("lease_until", UtcTime),
    Column("fence", BigInteger, nullable=False),
    # Counts what people changed.
    Column("version", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    # It went off with its workflow, and goes on with it. NULL: it is on, or somebody switched it off.
    Column("archived_at", UtcTime),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(["workflow_id"], ["workflow.id"], name="fk_workflow_schedule_workflow"),
    # What comes due. One that is off has no next time, so that MariaDB finds as little.
    index_where("workflow_schedule", "next_run_at", "next_run_at", "status = 'ACTIVE'"),
    Index("ix_workflow_schedule_workflow", "workflow_id", "id"),
)

# Who has a key of a start. No foreign key: it outlives the execution.
idempotency_key = new_table(
    "idempotency_key",
    Column("hash", Key(64), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    # NULL: it is kept for good.
    Column("expires_at", UtcTime),
    PrimaryKeyConstraint("hash"),
    # What may go.
    index_where_set("idempotency_key", "expires_at"),
)
