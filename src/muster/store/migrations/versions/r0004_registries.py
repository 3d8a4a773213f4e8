"""What administrators register: secrets, data sources, queries, actions."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_table, institute
from muster.store.types import JsonValue, Key, LongText, UtcTime

revision = "0004_registries"
down_revision = "0003_deliveries"


def upgrade(op: Operations) -> None:
    create_table(
        op,
        "secret",
        institute(),
        sa.Column("name", Key(255), nullable=False),
        sa.Column("value", LongText, nullable=False),
        *_dated(),
        sa.PrimaryKeyConstraint("institute_id", "name"),
    )
    create_table(
        op,
        "data_source",
        institute(),
        sa.Column("key", Key(255), nullable=False),
        sa.Column("url", LongText, nullable=False),
        sa.Column("password", LongText),
        sa.Column("password_secret", Key(255)),
        sa.Column("pool_size", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        *_dated(),
        sa.PrimaryKeyConstraint("institute_id", "key"),
        sa.ForeignKeyConstraint(
            ["institute_id", "password_secret"],
            ["secret.institute_id", "secret.name"],
            name="fk_data_source_secret",
        ),
    )
    create_table(
        op,
        "prebuilt_query",
        institute(),
        sa.Column("key", Key(255), nullable=False),
        sa.Column("description", LongText),
        sa.Column("data_source", Key(255), nullable=False),
        sa.Column("sql", LongText, nullable=False),
        sa.Column("params_schema", JsonValue),
        sa.Column("result_key", Key(255), nullable=False),
        sa.Column("max_rows", sa.Integer, nullable=False),
        sa.Column("timeout_seconds", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        *_dated(),
        sa.PrimaryKeyConstraint("institute_id", "key"),
        _uses_source("prebuilt_query"),
    )
    create_table(
        op,
        "action_definition",
        institute(),
        sa.Column("key", Key(255), nullable=False),
        sa.Column("description", LongText),
        sa.Column("data_source", Key(255), nullable=False),
        sa.Column("sql", JsonValue, nullable=False),
        sa.Column("params_schema", JsonValue),
        sa.Column("timeout_seconds", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        *_dated(),
        sa.PrimaryKeyConstraint("institute_id", "key"),
        _uses_source("action_definition"),
    )


def _dated() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
    )


def _uses_source(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["institute_id", "data_source"],
        ["data_source.institute_id", "data_source.key"],
        name=f"fk_{table}_source",
    )
