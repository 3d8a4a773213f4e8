"""Tokens, the audit log, messages to people, dead letters, bulk jobs and the instances that are there."""

from sqlalchemy import (
    BigInteger,
    Boolean,
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
    index_where_set,
    institute,
    new_table,
)
from muster.store.types import JsonValue, Key, LongText, RowId, UtcTime

api_token = new_table(
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

audit_log = new_table(
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

delivery = new_table(
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
    index_where_set("delivery", "provider_id"),
    # Old ones go by their time.
    Index("ix_delivery_created_at", "created_at"),
)

dead_letter = new_table(
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
    # Of a message that came: it has one letter, however often it comes, and to however many at once.
    Column("message_name", Key(NAME_LENGTH)),
    PrimaryKeyConstraint("id"),
    Index("ix_dead_letter_message_name", "message_name", unique=True),
    # The open letter of a thing that is tried again.
    Index("ix_dead_letter_key", "kind", "key"),
    # Lists of those that nobody has dealt with, newest first.
    Index("ix_dead_letter_status", "status", "id"),
)

bulk_job = new_table(
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

bulk_job_item = new_table(
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

# Who is there. Times are by the database's clock.
instance = new_table(
    "instance",
    Column("name", Key(NAME_LENGTH), nullable=False),
    # One start of it.
    Column("incarnation", Key(ID_LENGTH), nullable=False),
    Column("host", Key(NAME_LENGTH), nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("roles", JsonValue, nullable=False),
    Column("version", Key(NAME_LENGTH), nullable=False),
    # How many executions it has in hand.
    Column("driving", Integer, nullable=False),
    # Whether it has said that it takes no further work.
    Column("leaving", Boolean, nullable=False),
    Column("started_at", UtcTime, nullable=False),
    Column("heartbeat_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("name", "incarnation"),
)
