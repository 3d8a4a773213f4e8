"""Every table. The migrations make them so, and a test holds the two together.

A row belongs to a tenant by `institute_id` ('' where there is only one); nodes, edges and versions belong to
their workflow's. Unique keys are named, because who lost a race is told the name of the one that was broken.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.schema import SchemaItem

from muster.engine.search import TERM_LENGTH
from muster.store.types import Bytes, JsonValue, Key, LongText, RowId, UtcTime

metadata = MetaData()

ID_LENGTH = 36
NAME_LENGTH = 255
TAG_LENGTH = 100


# MariaDB compares by collation: a binary one without padding tells case and trailing spaces apart.
TABLE_OPTIONS: Mapping[str, Any] = {
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_nopad_bin",
}


def _table(name: str, *items: SchemaItem) -> Table:
    return Table(
        name,
        metadata,
        *items,
        **TABLE_OPTIONS,
        # An id that was given once is never given again, even when its row is gone.
        sqlite_autoincrement=any(isinstance(item, Column) and item.type is RowId for item in items),
    )


def institute() -> Column[str]:
    return Column("institute_id", Key(NAME_LENGTH), nullable=False, server_default=text("''"))


def _index_where_set(table: str, column: str) -> Index:
    """An index of the rows that have a value there. (MariaDB indexes NULLs too, and passes over them.)"""
    return _index_where(table, column, column, f"{column} IS NOT NULL")


def _index_where(table: str, name: str, column: str, where: str) -> Index:
    """An index of the rows for which `where` holds; on MariaDB, which cannot do so, of all."""
    return Index(f"ix_{table}_{name}", column, postgresql_where=text(where), sqlite_where=text(where))


workflow = _table(
    "workflow",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("key", Key(NAME_LENGTH), nullable=False),
    Column("name", LongText, nullable=False),
    Column("description", LongText),
    Column("kind", Key(32), nullable=False),
    Column("status", Key(32), nullable=False),
    Column("workflow_type", Key(32), nullable=False),
    institute(),
    Column("created_by_user_id", Key(NAME_LENGTH)),
    # No foreign key: versions refer to workflows already, and a circle could not be made on SQLite.
    Column("active_version_id", BigInteger),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("institute_id", "key", name="uq_workflow_key"),
)

workflow_version = _table(
    "workflow_version",
    Column("id", RowId, nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    Column("version", Integer, nullable=False),
    Column("definition", JsonValue, nullable=False),
    Column("checksum", Key(NAME_LENGTH), nullable=False),
    Column("created_by", Key(NAME_LENGTH), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("workflow_id", "version", name="uq_workflow_version_number"),
    ForeignKeyConstraint(["workflow_id"], ["workflow.id"], name="fk_workflow_version_workflow"),
)

workflow_node = _table(
    "workflow_node",
    Column("id", RowId, nullable=False),
    Column("workflow_version_id", BigInteger, nullable=False),
    Column("node_key", Key(NAME_LENGTH), nullable=False),
    Column("node_template_id", Key(NAME_LENGTH)),
    Column("event_type", Key(NAME_LENGTH)),
    Column("node_order", BigInteger, nullable=False),
    Column("is_start_node", Boolean, nullable=False),
    Column("is_end_node", Boolean, nullable=False),
    Column("override_config", JsonValue),
    PrimaryKeyConstraint("id"),
    # Also how a version's nodes are found.
    UniqueConstraint("workflow_version_id", "node_key", name="uq_workflow_node_key"),
    ForeignKeyConstraint(["workflow_version_id"], ["workflow_version.id"], name="fk_workflow_node_version"),
    # Which watched workflows an incoming event concerns.
    Index("ix_workflow_node_event_type", "event_type"),
)

workflow_edge = _table(
    "workflow_edge",
    Column("id", RowId, nullable=False),
    Column("workflow_version_id", BigInteger, nullable=False),
    Column("from_node_key", Key(NAME_LENGTH), nullable=False),
    Column("to_node_key", Key(NAME_LENGTH), nullable=False),
    Column("type", Key(32), nullable=False),
    Column("condition", JsonValue),
    Column("max_latency_sec", BigInteger),
    Column("absolute_deadline", Key(NAME_LENGTH)),
    Column("expected_count", Integer),
    Column("optional", Boolean, nullable=False, server_default=text("false")),
    Column("severity", Key(32)),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(["workflow_version_id"], ["workflow_version.id"], name="fk_workflow_edge_version"),
    # How a version's edges are found.
    Index("ix_workflow_edge_version", "workflow_version_id"),
)

node_template = _table(
    "node_template",
    Column("id", Key(NAME_LENGTH), nullable=False),
    Column("name", LongText, nullable=False),
    Column("node_type", Key(NAME_LENGTH), nullable=False),
    Column("config_json", JsonValue, nullable=False),
    Column("version", Integer, nullable=False),
    institute(),
    # People name templates (`template_query`), and two tenants may choose one name.
    PrimaryKeyConstraint("institute_id", "id"),
)

# One that came from a definition has the key of its node.
workflow_trigger = _table(
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

api_token = _table(
    "api_token",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("name", LongText, nullable=False),
    Column("token_hash", Key(NAME_LENGTH), nullable=False),
    Column("roles", JsonValue, nullable=False),
    # NULL: a token for all tenants.
    Column("institute_id", Key(NAME_LENGTH)),
    Column("created_by", Key(NAME_LENGTH), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
    Column("last_used_at", UtcTime),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("token_hash", name="uq_api_token_hash"),
)

audit_log = _table(
    "audit_log",
    Column("id", RowId, nullable=False),
    Column("entity_type", Key(64), nullable=False),
    Column("entity_id", Key(NAME_LENGTH), nullable=False),
    Column("action", Key(64), nullable=False),
    Column("actor", Key(NAME_LENGTH), nullable=False),
    Column("details", JsonValue, nullable=False),
    institute(),
    Column("created_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    Index("ix_audit_log_entity", "entity_type", "entity_id"),
)

workflow_schedule = _table(
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
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(["workflow_id"], ["workflow.id"], name="fk_workflow_schedule_workflow"),
    # What comes due. One that is off has no next time, so that MariaDB finds as little.
    _index_where("workflow_schedule", "next_run_at", "next_run_at", "status = 'ACTIVE'"),
    Index("ix_workflow_schedule_workflow", "workflow_id", "id"),
)

workflow_execution = _table(
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
    # How often it was taken over since it last made progress.
    Column("takeovers", Integer, nullable=False, server_default=text("0")),
    Column("parent_execution_id", Key(ID_LENGTH)),
    # How many executions are above it.
    Column("depth", Integer, nullable=False, server_default=text("0")),
    Column("tags", JsonValue),
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
    _index_where_set("workflow_execution", "resume_at"),
    _index_where_set("workflow_execution", "lease_until"),
    _index_where_set("workflow_execution", "owner"),
    # What is live.
    _index_where("workflow_execution", "live", "completed_at", "completed_at IS NULL"),
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

# Who has a key of a start. No foreign key: it outlives the execution.
idempotency_key = _table(
    "idempotency_key",
    Column("hash", Key(64), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    # NULL: it is kept for good.
    Column("expires_at", UtcTime),
    PrimaryKeyConstraint("hash"),
    # What may go.
    _index_where_set("idempotency_key", "expires_at"),
)

execution_tag = _table(
    "execution_tag",
    Column("tag", Key(TAG_LENGTH), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    PrimaryKeyConstraint("tag", "execution_id"),
    ForeignKeyConstraint(
        ["execution_id"], ["workflow_execution.id"], name="fk_execution_tag_execution", ondelete="CASCADE"
    ),
    Index("ix_execution_tag_execution", "execution_id"),
)

execution_search = _table(
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

node_execution = _table(
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

large_value = _table(
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

execution_signal = _table(
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
execution_child = _table(
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
execution_limit = _table(
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

approval = _table(
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
approval_assignee = _table(
    "approval_assignee",
    Column("assignee", Key(NAME_LENGTH), nullable=False),
    Column("approval_id", Key(ID_LENGTH), nullable=False),
    PrimaryKeyConstraint("assignee", "approval_id"),
    ForeignKeyConstraint(["approval_id"], ["approval.id"], name="fk_approval_assignee_approval"),
)

delivery = _table(
    "delivery",
    # In the order in which they were recorded.
    Column("id", RowId, nullable=False),
    # The effect's own name, as a digest: a repeat finds the row that it made before.
    Column("key_hash", Key(64), nullable=False),
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("node_id", Key(NAME_LENGTH), nullable=False),
    Column("item_key", Key(NAME_LENGTH), nullable=False),
    institute(),
    Column("channel", Key(32), nullable=False),
    Column("recipient", LongText, nullable=False),
    Column("subject", LongText),
    Column("body", LongText),
    Column("status", Key(32), nullable=False),
    Column("provider_id", Key(NAME_LENGTH)),
    Column("error", LongText),
    Column("created_at", UtcTime, nullable=False),
    Column("sent_at", UtcTime),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("key_hash", name="uq_delivery_key"),
    Index("ix_delivery_execution", "execution_id"),
    # What a provider's report of a message is about.
    _index_where_set("delivery", "provider_id"),
    # Old ones go by their time.
    Index("ix_delivery_created_at", "created_at"),
)


def _dated() -> tuple[Column[Any], ...]:
    return (Column("created_at", UtcTime, nullable=False), Column("updated_at", UtcTime, nullable=False))


secret = _table(
    "secret",
    institute(),
    Column("name", Key(NAME_LENGTH), nullable=False),
    # Encrypted; see `vault.py`.
    Column("value", LongText, nullable=False),
    *_dated(),
    PrimaryKeyConstraint("institute_id", "name"),
)

data_source = _table(
    "data_source",
    institute(),
    Column("key", Key(NAME_LENGTH), nullable=False),
    # Without its password, which is in the next column, encrypted, or is a secret.
    Column("url", LongText, nullable=False),
    Column("password", LongText),
    Column("password_secret", Key(NAME_LENGTH)),
    Column("pool_size", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    *_dated(),
    PrimaryKeyConstraint("institute_id", "key"),
    ForeignKeyConstraint(
        ["institute_id", "password_secret"],
        ["secret.institute_id", "secret.name"],
        name="fk_data_source_secret",
    ),
)

prebuilt_query = _table(
    "prebuilt_query",
    institute(),
    Column("key", Key(NAME_LENGTH), nullable=False),
    Column("description", LongText),
    Column("data_source", Key(NAME_LENGTH), nullable=False),
    Column("sql", LongText, nullable=False),
    Column("params_schema", JsonValue),
    Column("result_key", Key(NAME_LENGTH), nullable=False),
    Column("max_rows", Integer, nullable=False),
    Column("timeout_seconds", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    *_dated(),
    PrimaryKeyConstraint("institute_id", "key"),
    ForeignKeyConstraint(
        ["institute_id", "data_source"],
        ["data_source.institute_id", "data_source.key"],
        name="fk_prebuilt_query_source",
    ),
)

action_definition = _table(
    "action_definition",
    institute(),
    Column("key", Key(NAME_LENGTH), nullable=False),
    Column("description", LongText),
    Column("data_source", Key(NAME_LENGTH), nullable=False),
    # Several statements, one transaction.
    Column("sql", JsonValue, nullable=False),
    Column("params_schema", JsonValue),
    Column("timeout_seconds", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    *_dated(),
    PrimaryKeyConstraint("institute_id", "key"),
    ForeignKeyConstraint(
        ["institute_id", "data_source"],
        ["data_source.institute_id", "data_source.key"],
        name="fk_action_definition_source",
    ),
)

execution_takeover = _table(
    "execution_takeover",
    # Of executions that have made no progress since: the others' rows are gone.
    Column("execution_id", Key(ID_LENGTH), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("owner", Key(NAME_LENGTH), nullable=False),
    Column("taken_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("execution_id", "fence"),
)

# Every start of an instance, lately: each follows an end, or a fall.
instance_start = _table(
    "instance_start",
    Column("owner", Key(NAME_LENGTH), nullable=False),
    Column("started_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("owner"),
    Index("ix_instance_start_started_at", "started_at"),
)

dead_letter = _table(
    "dead_letter",
    # In the order in which they were written.
    Column("id", RowId, nullable=False),
    Column("kind", Key(32), nullable=False),
    # Where it comes from, and what it is there: of an execution, its workflow's key and its id.
    Column("source", Key(NAME_LENGTH), nullable=False),
    Column("key", Key(NAME_LENGTH), nullable=False),
    Column("value", JsonValue),
    Column("headers", JsonValue),
    Column("error_type", Key(NAME_LENGTH), nullable=False),
    Column("error_message", LongText, nullable=False),
    Column("attempts", JsonValue, nullable=False),
    Column("status", Key(32), nullable=False),
    institute(),
    Column("created_at", UtcTime, nullable=False),
    Column("resolved_at", UtcTime),
    PrimaryKeyConstraint("id"),
    # The open letter of a thing that is tried again.
    Index("ix_dead_letter_key", "kind", "key"),
    # Lists of those that nobody has dealt with, newest first.
    Index("ix_dead_letter_status", "status", "id"),
)

bulk_job = _table(
    "bulk_job",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("target", Key(32), nullable=False),
    Column("action", Key(32), nullable=False),
    # What told its items from others; NULL: they were named.
    Column("filter", JsonValue),
    Column("options", JsonValue, nullable=False),
    Column("reason", LongText, nullable=False),
    Column("actor", Key(NAME_LENGTH), nullable=False),
    institute(),
    # Whether whoever asked sees every tenant, not only the one above.
    Column("every_institute", Boolean, nullable=False),
    Column("status", Key(32), nullable=False),
    Column("total", Integer, nullable=False),
    Column("owner", Key(NAME_LENGTH)),
    Column("lease_until", UtcTime),
    Column("fence", BigInteger, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("completed_at", UtcTime),
    PrimaryKeyConstraint("id"),
    # Whose turn is next.
    Index("ix_bulk_job_status", "status", "updated_at"),
)

bulk_job_item = _table(
    "bulk_job_item",
    Column("job_id", Key(ID_LENGTH), nullable=False),
    # An execution's id, or a dead letter's number.
    Column("item_id", Key(NAME_LENGTH), nullable=False),
    Column("status", Key(32), nullable=False),
    Column("reason", LongText),
    Column("result", JsonValue),
    Column("completed_at", UtcTime),
    PrimaryKeyConstraint("job_id", "item_id"),
    ForeignKeyConstraint(["job_id"], ["bulk_job.id"], name="fk_bulk_job_item_job"),
    # What is left to do, and how far it is.
    Index("ix_bulk_job_item_status", "job_id", "status", "item_id"),
)
