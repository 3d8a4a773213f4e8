"""Statements about the rows that have one of many values in a column, made once and run often."""

from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, CursorResult, Executable, Integer, Text, any_, bindparam
from sqlalchemy.dialects.postgresql import ARRAY

Made = TypeVar("Made")
Values = Collection[str] | Collection[int]


class Among(Generic[Made]):
    """Something made of the condition that a column has one of some values, which are given when it is used.

    On PostgreSQL the values are one parameter, so that it is the same statement for any number of them, and
    is prepared once; elsewhere each is one.
    """

    def __init__(self, column: ColumnElement[Any], make: Callable[[ColumnElement[bool]], Made]) -> None:
        self._each = make(column.in_(bindparam("wanted", expanding=True)))
        element = column.type if isinstance(column.type, Integer) else Text()
        self._together = make(column == any_(bindparam("wanted", type_=ARRAY(element))))

    def of(self, connection: Connection, wanted: Values) -> tuple[Made, dict[str, object]]:
        """What to run, and what it is to be given."""
        made = self._together if connection.dialect.name == "postgresql" else self._each
        return made, {"wanted": sorted(wanted)}


def run_among(
    connection: Connection, among: "Among[Any]", wanted: Values, **given: object
) -> CursorResult[Any]:
    """Run a statement for these values."""
    statement: Executable
    statement, found = among.of(connection, wanted)
    return connection.execute(statement, {**found, **given})
