"""What reaches executions, and what they wait for."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
)

from muster.store.tables.shared import (
    ID_LENGTH,
    NAME_LENGTH,
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
