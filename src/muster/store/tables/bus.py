"""The embedded bus, and how far consumers are."""

from sqlalchemy import BigInteger, Column, Index, Integer, PrimaryKeyConstraint

from muster.store.tables.shared import NAME_LENGTH, new_table
from muster.store.types import Bytes, JsonValue, Key, UtcTime

TOPIC_LENGTH = 249  # as long as Kafka's

bus_message = new_table(
    "bus_message",
    Column("topic", Key(TOPIC_LENGTH), nullable=False),
    Column("partition", Integer, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("key", Bytes),
    Column("value", Bytes),
    # Pairs of a name and a value in Base64; NULL: there are none.
    Column("headers", JsonValue),
    Column("created_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("topic", "partition", "offset"),
    # Old ones go by their time.
    Index("ix_bus_message_created_at", "created_at"),
)

bus_position = new_table(
    "bus_position",
    # '': where the next message is to be put.
    Column("group_id", Key(NAME_LENGTH), nullable=False),
    Column("topic", Key(TOPIC_LENGTH), nullable=False),
    Column("partition", Integer, nullable=False),
    # The offset of the message that comes next.
    Column("position", BigInteger, nullable=False),
    Column("owner", Key(NAME_LENGTH)),
    Column("lease_until", UtcTime),
    Column("fence", BigInteger, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("group_id", "topic", "partition"),
)

bus_member = new_table(
    "bus_member",
    Column("group_id", Key(NAME_LENGTH), nullable=False),
    Column("topic", Key(TOPIC_LENGTH), nullable=False),
    Column("member", Key(NAME_LENGTH), nullable=False),
    Column("lease_until", UtcTime, nullable=False),
    PrimaryKeyConstraint("group_id", "topic", "member"),
)

consumer_position = new_table(
    "consumer_position",
    Column("group_id", Key(NAME_LENGTH), nullable=False),
    Column("topic", Key(TOPIC_LENGTH), nullable=False),
    Column("partition", Integer, nullable=False),
    # The offset of the message that comes next, recorded with what the one before it did.
    Column("position", BigInteger, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("group_id", "topic", "partition"),
)
