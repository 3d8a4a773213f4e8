"""What reaches executions, and what they wait for."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    UniqueConstraint,
    text,
)

from muster.store.tables.shared import (
    ID_LENGTH,
    NAME_LENGTH,
    TRACE_PARENT_LENGTH,
    index_where,
    institute,
    new_table,
)
from muster.store.types import JsonValue, Key, LongText, RowId, UtcTime

execution_signal = new_table(
    "execution_signal",
    Column("id", RowId, nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("kind", Key(32), nullable=False),
    Column("payload", JsonValue, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    # Its place among the rows of the journal, once it was taken.
    Column("seq", Integer),
    # Where in it something stands for a large value.
    Column("aside", JsonValue),
    PrimaryKeyConstraint("id"),
    # How an execution's owner finds what has reached it.
    Index("ix_execution_signal_execution", "execution_id"),
)

# A child that a visit waits for: the row is there as long as it does. A list's children wait in turn, `held`
# until one before them has ended. The list itself has a row, `held` until all of its children are there.
execution_child = new_table(
    "execution_child",
    Column("child_execution_id", Key(ID_LENGTH), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("node_id", Key(NAME_LENGTH), nullable=False),
    Column("visit", Integer, nullable=False),
    Column("item_key", Key(NAME_LENGTH), nullable=False),
    Column("place", Integer, nullable=False),
    Column("held", Boolean, nullable=False),
    # When it fails, those after it are not started.
    Column("stops", Boolean, nullable=False),
    # The limit that it comes under when it is its turn.
    Column("concurrency_key", Key(64)),
    Column("concurrency_limit", Integer),
    PrimaryKeyConstraint("child_execution_id"),
    # What a visit still waits for, and which of them is next.
    Index("ix_execution_child_visit", "execution_id", "node_id", "visit", "held", "place"),
)

# A live execution that counts towards a limit, or is queued because of it. It goes when the execution ends.
execution_limit = new_table(
    "execution_limit",
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    Column("concurrency_key", Key(64), nullable=False),
    Column("concurrency_limit", Integer, nullable=False),
    Column("queued", Boolean, nullable=False),
    PrimaryKeyConstraint("execution_id"),
    # How many are under way, and which is next: ids are in the order of time.
    Index("ix_execution_limit_key", "concurrency_key", "queued", "execution_id"),
)

approval = new_table(
    "approval",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("node_id", Key(NAME_LENGTH), nullable=False),
    Column("visit", Integer, nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    institute(),
    Column("status", Key(32), nullable=False),
    Column("title", LongText),
    Column("message", LongText),
    Column("assignees", JsonValue, nullable=False),
    # A JSON Schema of what is asked, and what was answered.
    Column("form_schema", JsonValue),
    Column("form", JsonValue),
    Column("reason", LongText),
    Column("decided_by", Key(NAME_LENGTH)),
    Column("decided_at", UtcTime),
    Column("expires_at", UtcTime),
    Column("created_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    # What a visit has asked for.
    Index("ix_approval_visit", "execution_id", "node_id", "visit"),
    # Lists, newest first.
    Index("ix_approval_status", "institute_id", "status", "id"),
)

# Who may decide: an approval without any may be decided by whoever operates.
approval_assignee = new_table(
    "approval_assignee",
    Column("assignee", Key(NAME_LENGTH), nullable=False),
    Column("approval_id", Key(ID_LENGTH), nullable=False),
    PrimaryKeyConstraint("assignee", "approval_id"),
    ForeignKeyConstraint(["approval_id"], ["approval.id"], name="fk_approval_assignee_approval"),
)

# Work that is offered to workers. `lock_until` is when a worker's lock ends, or, without a worker, from when
# on it is offered; `lock_ms` is for workers that do not say how long they want it.
external_task = new_table(
    "external_task",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("node_id", Key(NAME_LENGTH), nullable=False),
    Column("visit", Integer, nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    institute(),
    Column("topic", Key(NAME_LENGTH), nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("status", Key(32), nullable=False),
    Column("worker_id", Key(NAME_LENGTH)),
    Column("lock_until", UtcTime),
    Column("lock_ms", BigInteger),
    Column("retries", Integer),
    Column("variables", JsonValue, nullable=False),
    Column("error_message", LongText),
    Column("error_details", LongText),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("completed_at", UtcTime),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(
        ["execution_id"], ["workflow_execution.id"], name="fk_external_task_execution", ondelete="CASCADE"
    ),
    # What a visit has opened.
    Index("ix_external_task_visit", "execution_id", "node_id", "visit"),
    # Lists, newest first.
    Index("ix_external_task_listed", "institute_id", "status", "id"),
)
# What workers ask for, the most urgent first. Where there are no partial indexes, what is over is out of the
# way nevertheless.
Index(
    "ix_external_task_urgent",
    external_task.c.status,
    external_task.c.topic,
    external_task.c.priority.desc(),
    external_task.c.id,
    postgresql_where=text("status = 'OPEN'"),
    sqlite_where=text("status = 'OPEN'"),
)

# A visit that waits for events: one row for each visit, whatever has become of it. `config` is what it waits
# for, decided when it was opened; `events` is what is known of each event that came, and the data of those
# that have no column of their own.
execution_wait_states = new_table(
    "execution_wait_states",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("node_id", Key(NAME_LENGTH), nullable=False),
    Column("visit", Integer, nullable=False),
    Column("correlation_id", Key(NAME_LENGTH), nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    institute(),
    Column("aggregation_strategy", Key(50), nullable=False),
    Column("required_events", JsonValue),
    Column("enabled_events", JsonValue),
    Column("needed_events", JsonValue),
    Column("config", JsonValue, nullable=False),
    Column("api_call_enabled", Boolean, nullable=False),
    Column("kafka_event_enabled", Boolean, nullable=False),
    Column("api_call_response", JsonValue),
    Column("api_response_data", JsonValue),
    Column("kafka_event_data", JsonValue),
    Column("received_events", JsonValue),
    Column("events", JsonValue),
    Column("status", Key(50), nullable=False),
    Column("resumed_at", UtcTime),
    Column("resumed_by", Key(NAME_LENGTH)),
    # Counts the changes of the row: whoever changes it has looked at the one before.
    Column("version", Integer, nullable=False),
    # How many events came that were not accepted; of the first hundred the ledger has what they were.
    Column("near_misses", Integer, nullable=False, server_default=text("0")),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("execution_id", "node_id", "visit", name="uq_execution_wait_states_visit"),
    ForeignKeyConstraint(
        ["execution_id"],
        ["workflow_execution.id"],
        name="fk_execution_wait_states_execution",
        ondelete="CASCADE",
    ),
    # How events find it.
    Index("ix_execution_wait_states_correlation", "correlation_id", "execution_id"),
    # What waits, and for how long still.
    index_where("execution_wait_states", "status", "status", "status = 'waiting'"),
    index_where("execution_wait_states", "expires_at", "expires_at", "status = 'waiting'"),
    # Lists, newest first.
    Index("ix_execution_wait_states_listed", "institute_id", "status", "id"),
)

# Where waits look for their ids in the messages of a topic, and so which topics to listen to: those that the
# active definitions name, and those that executions run on.
wait_topic = new_table(
    "wait_topic",
    Column("topic", Key(249), nullable=False),
    Column("correlation_field", Key(NAME_LENGTH), nullable=False),
    # Empty where events are matched by a business key; then for how long early ones are kept.
    Column("execution_field", Key(NAME_LENGTH), nullable=False),
    Column("buffer_seconds", Integer, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("topic", "correlation_field", "execution_field"),
)

# A business key that a wait expects an event under: an open one, or one that may be armed again.
wait_key = new_table(
    "wait_key",
    Column("hash", Key(64), nullable=False),
    Column("wait_id", Key(ID_LENGTH), nullable=False),
    Column("event", Key(NAME_LENGTH), nullable=False),
    Column("cardinality", Key(8), nullable=False),
    Column("filter", JsonValue, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("hash", "wait_id", "event"),
    Index("ix_wait_key_wait", "wait_id"),
)

# An event under a business key, kept for the waits that it meets: those that are there when it comes
# (`received_at`), and those that begin while it is kept (until `expires_at`). One that was met by the one
# wait that it is for stays a while, so that a repeat of its message is recognised.
buffered_event = new_table(
    "buffered_event",
    Column("id", RowId, nullable=False),
    Column("message_hash", Key(64), nullable=False),
    Column("hash", Key(64), nullable=False),
    Column("topic", Key(NAME_LENGTH), nullable=False),
    Column("payload", JsonValue),
    Column("taken", Boolean, nullable=False),
    Column("received_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("trace_parent", Key(TRACE_PARENT_LENGTH)),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("message_hash", name="uq_buffered_event_message"),
    Index("ix_buffered_event_hash", "hash", "taken"),
    Index("ix_buffered_event_expires_at", "expires_at"),
)

# A buffered event and a wait that have nothing more to do with each other: they have met, or it was filtered.
buffered_event_wait = new_table(
    "buffered_event_wait",
    Column("event_id", BigInteger, nullable=False),
    Column("wait_id", Key(ID_LENGTH), nullable=False),
    PrimaryKeyConstraint("event_id", "wait_id"),
)

# Events that named a wait or an execution and were not accepted, kept for a day.
near_miss = new_table(
    "near_miss",
    Column("id", RowId, nullable=False),
    Column("source", Key(32), nullable=False),
    Column("topic", Key(NAME_LENGTH)),
    Column("execution_id", Key(NAME_LENGTH), nullable=False),
    Column("correlation_id", Key(NAME_LENGTH), nullable=False),
    Column("reason", Key(32), nullable=False),
    Column("payload", JsonValue),
    Column("received_at", UtcTime, nullable=False),
    Column("applied_to", Key(ID_LENGTH)),
    Column("applied_by", Key(NAME_LENGTH)),
    # The event that it would have been, and the wait that it came closest to.
    Column("event", Key(NAME_LENGTH)),
    Column("wait_id", Key(ID_LENGTH)),
    institute(),
    Column("trace_parent", Key(TRACE_PARENT_LENGTH)),
    PrimaryKeyConstraint("id"),
    Index("ix_near_miss_execution", "execution_id"),
    Index("ix_near_miss_wait", "wait_id"),
    Index("ix_near_miss_received_at", "received_at"),
)
