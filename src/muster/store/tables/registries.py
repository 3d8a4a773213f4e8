"""Secrets, data sources, queries and actions."""

from typing import Any

from sqlalchemy import (
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
)

from muster.store.tables.shared import (
    NAME_LENGTH,
    institute,
    new_table,
)
from muster.store.types import JsonValue, Key, LongText, UtcTime


def _dated() -> tuple[Column[Any], ...]:
    return (Column("created_at", UtcTime, nullable=False), Column("updated_at", UtcTime, nullable=False))


secret = new_table(
    "secret",
    institute(),
    Column("name", Key(NAME_LENGTH), nullable=False),
    # Encrypted; see `vault.py`.
    Column("value", LongText, nullable=False),
    *_dated(),
    PrimaryKeyConstraint("institute_id", "name"),
)

data_source = new_table(
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

prebuilt_query = new_table(
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

action_definition = new_table(
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
