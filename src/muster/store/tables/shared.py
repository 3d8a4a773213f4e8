"""What all tables share."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    Column,
    Index,
    MetaData,
    Table,
    text,
)
from sqlalchemy.schema import SchemaItem

from muster.store.types import Key, RowId

metadata = MetaData()

ID_LENGTH = 36
NAME_LENGTH = 255
TAG_LENGTH = 100
TRACE_PARENT_LENGTH = 55


# MariaDB compares by collation: a binary one without padding tells case and trailing spaces apart.
TABLE_OPTIONS: Mapping[str, Any] = {
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_nopad_bin",
}


def new_table(name: str, *items: SchemaItem) -> Table:
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


def index_where_set(table: str, column: str) -> Index:
    """An index of the rows that have a value there. (MariaDB indexes NULLs too, and passes over them.)"""
    return index_where(table, column, column, f"{column} IS NOT NULL")


def index_where(table: str, name: str, column: str, where: str) -> Index:
    """An index of the rows for which `where` holds; on MariaDB, which cannot do so, of all."""
    return Index(f"ix_{table}_{name}", column, postgresql_where=text(where), sqlite_where=text(where))
