"""The library of definitions: workflows, versions, templates; tokens; the audit log."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, create_table, institute
from muster.store.types import JsonValue, Key, LongText, RowId, UtcTime

revision = "0001_library"
down_revision = None


def upgrade(op: Operations) -> None:
    _workflows(op)
    _graphs(op)
    _registries(op)


def _workflows(op: Operations) -> None:
    create_table(
        op,
        "workflow",
        sa.Column("id", Key(36), nullable=False),
        sa.Column("key", Key(255), nullable=False),
        sa.Column("name", LongText, nullable=False),
        sa.Column("description", LongText),
        sa.Column("kind", Key(32), nullable=False),
        sa.Column("status", Key(32), nullable=False),
        sa.Column("workflow_type", Key(32), nullable=False),
        institute(),
        sa.Column("created_by_user_id", Key(255)),
        sa.Column("active_version_id", sa.BigInteger),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("institute_id", "key", name="uq_workflow_key"),
    )
    create_table(
        op,
        "workflow_version",
        sa.Column("id", RowId, nullable=False),
        sa.Column("workflow_id", Key(36), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("definition", JsonValue, nullable=False),
        sa.Column("checksum", Key(255), nullable=False),
        sa.Column("created_by", Key(255), nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workflow_id", "version", name="uq_workflow_version_number"),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflow.id"], name="fk_workflow_version_workflow"),
    )


def _graphs(op: Operations) -> None:
    create_table(
        op,
        "workflow_node",
        sa.Column("id", RowId, nullable=False),
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False),
        sa.Column("node_key", Key(255), nullable=False),
        sa.Column("node_template_id", Key(255)),
        sa.Column("event_type", Key(255)),
        sa.Column("node_order", sa.BigInteger, nullable=False),
        sa.Column("is_start_node", sa.Boolean, nullable=False),
        sa.Column("is_end_node", sa.Boolean, nullable=False),
        sa.Column("override_config", JsonValue),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workflow_version_id", "node_key", name="uq_workflow_node_key"),
        sa.ForeignKeyConstraint(
            ["workflow_version_id"], ["workflow_version.id"], name="fk_workflow_node_version"
        ),
    )
    create_index(op, "ix_workflow_node_event_type", "workflow_node", ["event_type"])
    create_table(
        op,
        "workflow_edge",
        sa.Column("id", RowId, nullable=False),
        sa.Column("workflow_version_id", sa.BigInteger, nullable=False),
        sa.Column("from_node_key", Key(255), nullable=False),
        sa.Column("to_node_key", Key(255), nullable=False),
        sa.Column("type", Key(32), nullable=False),
        sa.Column("condition", JsonValue),
        sa.Column("max_latency_sec", sa.BigInteger),
        sa.Column("absolute_deadline", Key(255)),
        sa.Column("expected_count", sa.Integer),
        sa.Column("optional", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("severity", Key(32)),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["workflow_version_id"], ["workflow_version.id"], name="fk_workflow_edge_version"
        ),
    )
    create_index(op, "ix_workflow_edge_version", "workflow_edge", ["workflow_version_id"])


def _registries(op: Operations) -> None:
    create_table(
        op,
        "node_template",
        sa.Column("id", Key(255), nullable=False),
        sa.Column("name", LongText, nullable=False),
        sa.Column("node_type", Key(255), nullable=False),
        sa.Column("config_json", JsonValue, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        institute(),
        sa.PrimaryKeyConstraint("institute_id", "id"),
    )
    create_table(
        op,
        "api_token",
        sa.Column("id", Key(36), nullable=False),
        sa.Column("name", LongText, nullable=False),
        sa.Column("token_hash", Key(255), nullable=False),
        sa.Column("roles", JsonValue, nullable=False),
        sa.Column("institute_id", Key(255)),
        sa.Column("created_by", Key(255), nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("expires_at", UtcTime),
        sa.Column("revoked_at", UtcTime),
        sa.Column("last_used_at", UtcTime),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash", name="uq_api_token_hash"),
    )
    create_table(
        op,
        "audit_log",
        sa.Column("id", RowId, nullable=False),
        sa.Column("entity_type", Key(64), nullable=False),
        sa.Column("entity_id", Key(255), nullable=False),
        sa.Column("action", Key(64), nullable=False),
        sa.Column("actor", Key(255), nullable=False),
        sa.Column("details", JsonValue, nullable=False),
        institute(),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index(op, "ix_audit_log_entity", "audit_log", ["entity_type", "entity_id"])
