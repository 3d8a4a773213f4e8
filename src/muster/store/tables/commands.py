"""Commands on the bus, and where their replies come from."""

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

from muster.store.tables.bus import TOPIC_LENGTH
from muster.store.tables.shared import ID_LENGTH, NAME_LENGTH, index_where, institute, new_table
from muster.store.types import Bytes, JsonValue, Key, LongText, RowId, UtcTime

workflow_kafka_commands = new_table(
    "workflow_kafka_commands",
    Column("id", Key(ID_LENGTH), nullable=False),
    Column("workflow_instance_id", Key(ID_LENGTH), nullable=False),
    Column("step_id", Key(NAME_LENGTH), nullable=False),
    Column("visit", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("workflow_id", Key(ID_LENGTH), nullable=False),
    institute(),
    Column("correlation_id", Key(ID_LENGTH), nullable=False),
    # Of a command that undoes another: the correlation id of that.
    Column("compensates", Key(ID_LENGTH)),
    Column("command_topic", Key(TOPIC_LENGTH), nullable=False),
    Column("command_payload", JsonValue),
    Column("command_headers", JsonValue),
    # The message as it was sent, where it may become a dead letter.
    Column("command_key", Bytes),
    Column("command_value", Bytes),
    Column("reply_topic", Key(TOPIC_LENGTH), nullable=False),
    Column("reply_schema", JsonValue),
    Column("reply_payload", JsonValue),
    Column("reply_headers", JsonValue),
    Column("reply_received_at", UtcTime),
    # It came when nobody waited any more.
    Column("late", Boolean, nullable=False),
    # Both are known once the bus has the message.
    Column("sent_at", UtcTime),
    Column("timeout_at", UtcTime),
    Column("timeout_ms", BigInteger, nullable=False),
    Column("completed_at", UtcTime),
    Column("status", Key(50), nullable=False),
    Column("error_message", LongText),
    Column("dlq_topic", Key(TOPIC_LENGTH)),
    Column("dlq_sent_at", UtcTime),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    # How replies find it.
    UniqueConstraint("correlation_id", name="uq_workflow_kafka_commands_correlation"),
    ForeignKeyConstraint(
        ["workflow_instance_id"],
        ["workflow_execution.id"],
        name="fk_workflow_kafka_commands_execution",
        ondelete="CASCADE",
    ),
    # What a visit has sent.
    Index("ix_workflow_kafka_commands_execution", "workflow_instance_id", "step_id", "visit"),
    Index("ix_workflow_kafka_commands_status", "status", "id"),
    index_where("workflow_kafka_commands", "timeout_at", "timeout_at", "status = 'SENT'"),
    # Lists, newest first.
    Index("ix_workflow_kafka_commands_listed", "institute_id", "id"),
)

# Where replies come from, and where their correlation id is if their headers have none. What was published
# before the first command can be nobody's reply.
reply_topic = new_table(
    "reply_topic",
    Column("topic", Key(TOPIC_LENGTH), nullable=False),
    Column("correlation_field", Key(NAME_LENGTH), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("topic", "correlation_field"),
)

# Replies whose schema could not be had when they came: as they came, until it can.
reply_aside = new_table(
    "reply_aside",
    Column("id", RowId, nullable=False),
    Column("topic", Key(TOPIC_LENGTH), nullable=False),
    Column("partition", Integer, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("key", Bytes),
    Column("value", Bytes),
    # Pairs of a name and a value in Base64; NULL: there are none.
    Column("headers", JsonValue),
    Column("published_at", UtcTime, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("next_try_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("id"),
    # A message that comes again is there already.
    UniqueConstraint("topic", "partition", "offset", name="uq_reply_aside_message"),
    Index("ix_reply_aside_next_try_at", "next_try_at"),
)
