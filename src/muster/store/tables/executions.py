"""Executions, their journal, how they are found, and who took them over."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    text,
)

from muster.engine.search import TERM_LENGTH
from muster.store.tables.shared import (
    ID_LENGTH,
    NAME_LENGTH,
    TAG_LENGTH,
    TRACE_PARENT_LENGTH,
    index_where,
    index_where_set,
    institute,
    new_table,
)
from muster.store.types import Bytes, JsonValue, Key, LongText, UtcTime

workflow_execution = new_table(
    "workflow_execution",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    Column("workflow_version_id", BigInteger, nullable=False),
    Column("trigger_id", Key(ID_LENGTH)),
    Column("status", Key(32), nullable=False),
    Column("idempotency_key", LongText),
    # What it was started with, for starting it anew.
    Column("given", JsonValue, nullable=False),
    Column("context", JsonValue, nullable=False),
    # Tokens, visits and outputs at the last checkpoint; NULL until the first.
    Column("state", JsonValue),
    # The last number of the journal that the checkpoint takes account of.
    Column("checkpoint_seq", Integer, nullable=False, server_default=text("0")),
    Column("output", JsonValue),
    Column("current_node_id", Key(NAME_LENGTH)),
    Column("resume_at", UtcTime),
    Column("resumed_at", UtcTime),
    Column("resumed_by", Key(NAME_LENGTH)),
    Column("owner", Key(NAME_LENGTH)),
    Column("lease_until", UtcTime),
    Column("fence", BigInteger, nullable=False),
    # Under this one nobody can have begun what the checkpoint has as running: it was handed on, or reopened.
    Column("untouched_fence", BigInteger),
    # How often it was taken over since it last made progress.
    Column("takeovers", Integer, nullable=False, server_default=text("0")),
    Column("parent_execution_id", Key(ID_LENGTH)),
    # How many executions are above it.
    Column("depth", Integer, nullable=False, server_default=text("0")),
    Column("tags", JsonValue),
    # The span of another program, or of its parent, that it goes on from, as a `traceparent`.
    Column("trace_parent", Key(TRACE_PARENT_LENGTH)),
    Column("error_type", Key(NAME_LENGTH)),
    Column("error_message", LongText),
    institute(),
    Column("started_at", UtcTime, nullable=False),
    Column("completed_at", UtcTime),
    Column("updated_at", UtcTime, nullable=False),
    # Where in its columns something stands for a large value; and where in what it was started with, as
    # places in the context.
    Column("aside", JsonValue),
    Column("given_aside", JsonValue),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(
        ["workflow_version_id"], ["workflow_version.id"], name="fk_workflow_execution_version"
    ),
    # What comes due; whose owner has gone; what an owner holds. Finished executions have none of the three,
    # so these stay as small as what is live.
    index_where_set("workflow_execution", "resume_at"),
    index_where_set("workflow_execution", "lease_until"),
    index_where_set("workflow_execution", "owner"),
    # What is live.
    index_where("workflow_execution", "live", "completed_at", "completed_at IS NULL"),
    # Lists, newest first; ids are in the order of time.
    Index("ix_workflow_execution_workflow", "workflow_id", "id"),
    # What has changed lately, for those who follow.
    Index("ix_workflow_execution_updated_at", "updated_at"),
    # What a key has begun. A key may be of any length: PostgreSQL keeps its hash, MariaDB its beginning.
    Index(
        "ix_workflow_execution_idempotency_key",
        "idempotency_key",
        postgresql_using="hash",
        mariadb_length=100,
        postgresql_where=text("idempotency_key IS NOT NULL"),
        sqlite_where=text("idempotency_key IS NOT NULL"),
    ),
    # What a trigger or a schedule has started.
    Index(
        "ix_workflow_execution_trigger",
        "trigger_id",
        "id",
        postgresql_where=text("trigger_id IS NOT NULL"),
        sqlite_where=text("trigger_id IS NOT NULL"),
    ),
    # What runs, waits or has failed, among the many that have completed.
    Index(
        "ix_workflow_execution_status",
        "status",
        "id",
        postgresql_where=text("status <> 'COMPLETED'"),
        sqlite_where=text("status <> 'COMPLETED'"),
    ),
)

execution_tag = new_table(
    "execution_tag",
    Column("tag", Key(TAG_LENGTH), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    PrimaryKeyConstraint("tag", "execution_id"),
    ForeignKeyConstraint(
        ["execution_id"], ["workflow_execution.id"], name="fk_execution_tag_execution", ondelete="CASCADE"
    ),
    Index("ix_execution_tag_execution", "execution_id"),
)

execution_search = new_table(
    "execution_search",
    # How a value, or a word in it, begins; in small letters.
    Column("term", Key(TERM_LENGTH), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    PrimaryKeyConstraint("term", "execution_id"),
    ForeignKeyConstraint(
        ["execution_id"], ["workflow_execution.id"], name="fk_execution_search_execution", ondelete="CASCADE"
    ),
    Index("ix_execution_search_execution", "execution_id"),
)

node_execution = new_table(
    "node_execution",
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("node_id", Key(NAME_LENGTH), nullable=False),
    Column("visit", Integer, nullable=False),
    # '' for the visit itself.
    Column("item_key", Key(NAME_LENGTH), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", Key(32), nullable=False),
    Column("input", JsonValue),
    Column("output", JsonValue),
    # NULL: the output itself was merged into the context.
    Column("changes", JsonValue),
    Column("error", JsonValue),
    Column("warnings", JsonValue),
    Column("due_at", UtcTime),
    Column("started_at", UtcTime, nullable=False),
    Column("completed_at", UtcTime),
    # Where in its columns something stands for a large value.
    Column("aside", JsonValue),
    PrimaryKeyConstraint("execution_id", "node_id", "visit", "item_key"),
)

# What nodes have done, or are about to do, once for a key. No foreign key: it outlives the execution.
node_dedupe = new_table(
    "node_dedupe",
    Column("hash", Key(64), nullable=False),
    # The visit that has it.
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("node_id", Key(NAME_LENGTH), nullable=False),
    Column("visit", Integer, nullable=False),
    Column("done", Boolean, nullable=False),
    # NULL: it is not done yet, or for good.
    Column("expires_at", UtcTime),
    PrimaryKeyConstraint("hash"),
    # What a visit has claimed.
    Index("ix_node_dedupe_visit", "execution_id", "node_id", "visit"),
    # What may go.
    index_where_set("node_dedupe", "expires_at"),
)

large_value = new_table(
    "large_value",
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("sha256", Key(64), nullable=False),
    # A value is cut into parts, because MariaDB takes 16 MiB in a statement.
    Column("part", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("data", Bytes, nullable=False),
    PrimaryKeyConstraint("execution_id", "sha256", "part"),
    # Values go with their execution.
    ForeignKeyConstraint(
        ["execution_id"], ["workflow_execution.id"], name="fk_large_value_execution", ondelete="CASCADE"
    ),
)

execution_takeover = new_table(
    "execution_takeover",
    # Of executions that have made no progress since: the others' rows are gone.
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("owner", Key(NAME_LENGTH), nullable=False),
    Column("taken_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("execution_id", "fence"),
)

# Every start of an instance, lately: each follows an end, or a fall.
instance_start = new_table(
    "instance_start",
    Column("owner", Key(NAME_LENGTH), nullable=False),
    Column("started_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("owner"),
    Index("ix_instance_start_started_at", "started_at"),
)
