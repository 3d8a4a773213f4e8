"""What is watched: events, runs and what they expect, counts, alerts. Watched workflows and their versions
are with the others (`definitions.py`).

The tables that every event writes to have no foreign keys: their rows come in one transaction with the run
that they belong to, and a check for each would take as long as the row itself.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)

from muster.store.tables.shared import ID_LENGTH, NAME_LENGTH, institute, new_table
from muster.store.types import JsonValue, Key, RowId, UtcTime

HASH_LENGTH = 64

event_raw = new_table(
    "event_raw",
    Column("id", RowId, nullable=False),
    institute(),
    Column("source_system", Key(NAME_LENGTH), nullable=False),
    Column("source_event_id", Key(NAME_LENGTH), nullable=False),
    Column("event_type", Key(NAME_LENGTH), nullable=False),
    # As it was sent, also if that is in the future.
    Column("event_time", UtcTime, nullable=False),
    Column("received_at", UtcTime, nullable=False),
    Column("correlation_key", Key(NAME_LENGTH), nullable=False),
    # A list; NULL: those with a node for its type.
    Column("workflow_keys", JsonValue),
    Column("event_group", JsonValue),
    Column("payload", JsonValue),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("institute_id", "source_system", "source_event_id", name="uq_event_raw_source"),
    # What is replayed, and what is old.
    Index("ix_event_raw_received_at", "received_at"),
)

workflow_run = new_table(
    "workflow_run",
    # Given in blocks (`watch_sequence`), so that its rows need not ask for it.
    Column("id", BigInteger, nullable=False, autoincrement=False),
    Column("workflow_version_id", BigInteger, nullable=False),
    Column("correlation_key", Key(NAME_LENGTH), nullable=False),
    Column("run_no", Integer, nullable=False),
    institute(),
    Column("status", Key(16), nullable=False),
    Column("last_node_key", Key(NAME_LENGTH)),
    Column("group_dims", JsonValue),
    Column("group_dim_hash", Key(HASH_LENGTH), nullable=False),
    # What its rows do not tell: events that came before their predecessors, and whether the end came.
    Column("state", JsonValue),
    # Rises with every change; a change names the one that it was made from.
    Column("seq", BigInteger, nullable=False),
    Column("started_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("workflow_version_id", "correlation_key", "run_no", name="uq_workflow_run_number"),
    # An item, whichever workflow it goes through.
    Index("ix_workflow_run_correlation_key", "correlation_key"),
    # Versions that runs are still under way on, and old runs.
    Index("ix_workflow_run_finished_at", "workflow_version_id", "finished_at"),
)

event_occurrence = new_table(
    "event_occurrence",
    Column("id", RowId, nullable=False),
    Column("workflow_run_id", BigInteger, nullable=False),
    Column("node_key", Key(NAME_LENGTH), nullable=False),
    Column("source_system", Key(NAME_LENGTH), nullable=False),
    Column("event_id", Key(NAME_LENGTH), nullable=False),
    # Not after it was received; `clamped` where it had been.
    Column("event_time", UtcTime, nullable=False),
    Column("received_at", UtcTime, nullable=False),
    Column("late", Boolean, nullable=False),
    # Whether it is the one that counts as late; if not, the miss was counted before.
    Column("counted_late", Boolean, nullable=False),
    Column("duplicate", Boolean, nullable=False),
    Column("order_violation", Boolean, nullable=False),
    Column("clamped", Boolean, nullable=False),
    Column("payload_excerpt", JsonValue),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("workflow_run_id", "source_system", "event_id", name="uq_event_occurrence_event"),
)

expectation = new_table(
    "expectation",
    # Given in blocks, as those of runs.
    Column("id", BigInteger, nullable=False, autoincrement=False),
    Column("workflow_run_id", BigInteger, nullable=False),
    # '': that a run begins at all.
    Column("from_node_key", Key(NAME_LENGTH), nullable=False),
    Column("to_node_key", Key(NAME_LENGTH), nullable=False),
    Column("due_at", UtcTime, nullable=False),
    Column("severity", Key(16), nullable=False),
    Column("status", Key(16), nullable=False),
    # Adds nothing to what is in flight.
    Column("optional", Boolean, nullable=False),
    # The first of those that one event expects over one edge.
    Column("origin_id", BigInteger, nullable=False),
    # Whether the event that clears it creates what follows: of those of one origin, the first to come does.
    Column("leads", Boolean, nullable=False),
    Column("lock_owner", Key(NAME_LENGTH)),
    Column("created_at", UtcTime, nullable=False),
    Column("fired_at", UtcTime),
    Column("cleared_at", UtcTime),
    # When nobody counted on it any more; one that had fired by then stays so.
    Column("abandoned_at", UtcTime),
    PrimaryKeyConstraint("id"),
    Index("ix_expectation_run", "workflow_run_id"),
    # What is due, and what has been missing for long.
    Index(
        "ix_expectation_due",
        "status",
        "due_at",
        postgresql_where=text("status <> 'cleared'"),
        sqlite_where=text("status <> 'cleared'"),
    ),
)


def _counts(name: str) -> Table:
    """Counts by version, group, node and a span of time. `in_flight` is what it changed by in that span."""
    return new_table(
        name,
        Column("workflow_version_id", BigInteger, nullable=False, autoincrement=False),
        Column("group_dim_hash", Key(HASH_LENGTH), nullable=False),
        Column("node_key", Key(NAME_LENGTH), nullable=False),
        Column("bucket_start", UtcTime, nullable=False),
        Column("in_flight", BigInteger, nullable=False),
        Column("completed", BigInteger, nullable=False),
        Column("late", BigInteger, nullable=False),
        Column("failed", BigInteger, nullable=False),
        PrimaryKeyConstraint("workflow_version_id", "group_dim_hash", "node_key", "bucket_start"),
    )


# By the minute; and the same by the hour and by the day, written together with it.
stage_aggregate = _counts("stage_aggregate")
stage_aggregate_hour = _counts("stage_aggregate_hour")
for _table in (stage_aggregate, stage_aggregate_hour):
    # What a version has counted in a stretch of time, whatever the groups and nodes.
    Index(f"ix_{_table.name}_time", _table.c.workflow_version_id, _table.c.bucket_start)
stage_aggregate_day = _counts("stage_aggregate_day")

# The groups behind the hashes.
stage_group = new_table(
    "stage_group",
    Column("workflow_version_id", BigInteger, nullable=False, autoincrement=False),
    Column("group_dim_hash", Key(HASH_LENGTH), nullable=False),
    Column("group_dims", JsonValue),
    Column("created_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("workflow_version_id", "group_dim_hash"),
)

alert = new_table(
    "alert",
    Column("id", RowId, nullable=False),
    # Names the version, so it is one tenant's.
    Column("dedupe_key", Key(600), nullable=False),
    institute(),
    Column("workflow_version_id", BigInteger, nullable=False),
    Column("workflow_run_id", BigInteger),
    Column("node_key", Key(NAME_LENGTH), nullable=False),
    Column("correlation_key", Key(NAME_LENGTH), nullable=False),
    Column("group_dim_hash", Key(HASH_LENGTH), nullable=False),
    Column("severity", Key(16), nullable=False),
    Column("reason", Key(64), nullable=False),
    Column("state", Key(16), nullable=False),
    Column("count", Integer, nullable=False),
    Column("first_triggered_at", UtcTime, nullable=False),
    Column("last_triggered_at", UtcTime, nullable=False),
    Column("acked_by", Key(NAME_LENGTH)),
    Column("suppressed_until", UtcTime),
    Column("resolved_at", UtcTime),
    # NULL: it has been triggered, and is in none yet.
    Column("incident_id", BigInteger),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("dedupe_key", name="uq_alert_dedupe_key"),
    Index("ix_alert_state", "state", "id"),
    Index("ix_alert_run", "workflow_run_id"),
    # Those in no incident yet, and whether one has any left.
    Index("ix_alert_incident_state", "incident_id", "state"),
)

incident = new_table(
    "incident",
    Column("id", RowId, nullable=False),
    institute(),
    # What its alerts have in common, while it is open; then NULL.
    Column("open_key", Key(HASH_LENGTH)),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    Column("workflow_version_id", BigInteger, nullable=False),
    Column("node_key", Key(NAME_LENGTH), nullable=False),
    Column("group_dim_hash", Key(HASH_LENGTH)),
    Column("reason", Key(64), nullable=False),
    Column("severity", Key(16), nullable=False),
    Column("state", Key(16), nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("first_triggered_at", UtcTime, nullable=False),
    Column("last_triggered_at", UtcTime, nullable=False),
    Column("notified_at", UtcTime),
    Column("resolved_at", UtcTime),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("open_key", name="uq_incident_open_key"),
    Index("ix_incident_state", "state", "id"),
)

# Start nodes that are expected to begin a run by the clock.
expected_start = new_table(
    "expected_start",
    Column("workflow_version_id", BigInteger, nullable=False, autoincrement=False),
    Column("node_key", Key(NAME_LENGTH), nullable=False),
    Column("next_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("workflow_version_id", "node_key"),
    Index("ix_expected_start_next_at", "next_at"),
)

# When somebody last took events in, and for how long nobody did before.
watch_presence = new_table(
    "watch_presence",
    Column("name", Key(64), nullable=False),
    Column("seen_at", UtcTime, nullable=False),
    Column("gap_from", UtcTime),
    Column("returned_at", UtcTime),
    # When all had been read that waited at the return.
    Column("caught_up_at", UtcTime),
    PrimaryKeyConstraint("name"),
)

# Since when all is there that was watched.
watch_horizon = new_table(
    "watch_horizon",
    Column("name", Key(64), nullable=False),
    Column("at", UtcTime, nullable=False),
    PrimaryKeyConstraint("name"),
)

watch_sequence = new_table(
    "watch_sequence",
    Column("name", Key(64), nullable=False),
    Column("next_id", BigInteger, nullable=False),
    PrimaryKeyConstraint("name"),
)
