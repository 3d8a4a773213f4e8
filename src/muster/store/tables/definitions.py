"""Workflows, their versions, and templates of nodes."""

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
    institute,
    new_table,
)
from muster.store.types import JsonValue, Key, LongText, RowId, UtcTime

workflow = new_table(
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

workflow_version = new_table(
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

workflow_node = new_table(
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

workflow_edge = new_table(
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

node_template = new_table(
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
