"""Messages on their way to the bus."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, UniqueConstraint, text

from muster.store.tables.bus import TOPIC_LENGTH
from muster.store.tables.shared import ID_LENGTH, NAME_LENGTH, institute, new_table
from muster.store.types import Bytes, JsonValue, Key, LongText, RowId, UtcTime

STREAM_LENGTH = 64

outbox_message = new_table(
    "outbox_message",
    # In the order in which messages were written, as far as one can see them.
    Column("id", RowId, nullable=False),
    # Who repeats a write has the same one.
    Column("message_id", Key(ID_LENGTH), nullable=False),
    institute(),
    Column("stream", Key(STREAM_LENGTH), nullable=False),
    # Its place in the stream, given when it is claimed; it never changes afterwards, nor does the message.
    # What was published without one has a place below zero: what has none waits.
    Column("seq", BigInteger),
    Column("topic", Key(TOPIC_LENGTH), nullable=False),
    Column("key", Bytes),
    # Pairs of a name and a value in Base64; NULL: there are none.
    Column("headers", JsonValue),
    Column("value", Bytes),
    # By what the sender is told what became of it.
    Column("reference", Key(NAME_LENGTH)),
    Column("created_at", UtcTime, nullable=False),
    # When it was published; with an `error`, when it was refused.
    Column("published_at", UtcTime),
    Column("error", LongText),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("message_id", name="uq_outbox_message_message"),
    UniqueConstraint("stream", "seq", name="uq_outbox_message_seq"),
    # What is still to be claimed, in its order. No index knows `published_at`, so that on PostgreSQL a
    # message is marked in its page, which has room for that, and no index is written.
    Index(
        "ix_outbox_message_unclaimed",
        "stream",
        "seq",
        "id",
        postgresql_where=text("seq IS NULL"),
        sqlite_where=text("seq IS NULL"),
    ),
)

outbox_stream = new_table(
    "outbox_stream",
    Column("stream", Key(STREAM_LENGTH), nullable=False),
    # What it is called on the bus, which others may share: no other database has this one.
    Column("name", Key(NAME_LENGTH), nullable=False),
    Column("next_seq", BigInteger, nullable=False),
    # All up to here is known to be published; the bus may be further.
    Column("published_seq", BigInteger, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("owner", Key(NAME_LENGTH)),
    Column("lease_until", UtcTime),
    # Why nobody may publish it: the bus and the database contradict each other.
    Column("problem", LongText),
    PrimaryKeyConstraint("stream"),
)
