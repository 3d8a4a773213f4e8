"""What revisions are written with. On MariaDB, which cannot undo a change of the schema, a revision that
stopped half-way goes on when it is run again: what is there already is left as it is."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations
from sqlalchemy.schema import SchemaItem

from muster.store.tables import TABLE_OPTIONS, institute
from muster.store.types import RowId

__all__ = ["add_column", "create_index", "create_table", "drop_index", "institute"]


def create_table(op: Operations, name: str, *items: SchemaItem) -> None:
    numbered = any(isinstance(item, sa.Column) and item.type is RowId for item in items)
    op.create_table(
        name, *items, **TABLE_OPTIONS, sqlite_autoincrement=numbered, if_not_exists=_cannot_undo(op) or None
    )


def add_column(op: Operations, table: str, column: sa.Column[Any]) -> None:
    op.add_column(table, column, if_not_exists=_cannot_undo(op) or None)


def create_index(
    op: Operations,
    name: str,
    table: str,
    columns: Sequence[str | sa.TextClause],
    where: str | None = None,
    unique: bool = False,
) -> None:
    """Make an index, of the rows for which `where` holds: on MariaDB, which cannot do so, of all rows."""
    partial = None if where is None else sa.text(where)
    op.create_index(
        name,
        table,
        columns,
        unique=unique,
        postgresql_where=partial,
        sqlite_where=partial,
        if_not_exists=_cannot_undo(op) or None,
    )


def drop_index(op: Operations, name: str, table: str) -> None:
    op.drop_index(name, table, if_exists=_cannot_undo(op) or None)


def _cannot_undo(op: Operations) -> bool:
    return op.get_bind().dialect.name == "mariadb"
