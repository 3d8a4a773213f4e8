"""Many rows in one statement on PostgreSQL: those of a table go as one parameter, a JSON document.

So a statement is the same for any number of rows, and is prepared once. An array for each column would do as
well, but the driver looks at every element of an array several times, which takes longer than the rest.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import Connection, Dialect, Row, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from muster.store.driver import fetch, is_alone
from muster.store.types import Bytes, Encoder, JsonText, JsonValue, Unstorable, UtcTime, encoder, json_text

Rows = Sequence[Mapping[str, object]]
Names = tuple[str, ...]
# Some rows of a table, with the columns that they have.
Written = tuple[Table, Names, Rows]
# The first parameter, as a document.
FIRST = "$1::text::json"


def insert(
    connection: Connection,
    table: Table,
    names: Names,
    rows: Rows,
    conflict: str = "",
    returning: Sequence[str] = (),
    from_now: Names = (),
) -> Sequence[Row[Any]]:
    """`from_now`: columns whose times are told by how far they are from now."""
    dialect = connection.dialect
    statement = f"{inserting(table, names, dialect, from_now=from_now)} {conflict}"
    if returning:
        statement += f" RETURNING {quoted(dialect, returning)}"
    document = documents(table, names, rows, dialect, from_now)
    return run(connection, statement, [document], (table, names, rows))


def upsert(connection: Connection, table: Table, names: Names, rows: Rows, key: Sequence[str]) -> None:
    insert(connection, table, names, rows, overwriting(connection.dialect, names, key))


def update(connection: Connection, table: Table, names: Names, rows: Rows, key: Sequence[str]) -> None:
    dialect = connection.dialect
    statement = _update(table, names, tuple(key), dialect)
    run(connection, statement, [documents(table, names, rows, dialect)], (table, names, rows))


def lock(
    connection: Connection, table: Table, key: str, wanted: Sequence[str], columns: Sequence[str]
) -> Sequence[Row[Any]]:
    # A look for each key: a plan for `IN`, made while the table was empty, reads all of it ever after.
    statement = _lock(table, key, tuple(columns), connection.dialect)
    return connection.exec_driver_sql(statement, (orjson.dumps(wanted).decode(),)).all()


def present(connection: Connection, table: Table, column: str, values: Sequence[str]) -> set[str]:
    # One statement for any number of values: `IN` would be another for each number, prepared anew.
    statement = _present(table, column, connection.dialect)
    return {row[0] for row in connection.exec_driver_sql(statement, (orjson.dumps(values).decode(),))}


def run(
    connection: Connection, statement: str, given: Sequence[object], *written: Written
) -> Sequence[Row[Any]]:
    """Run a statement over documents, a parameter each, that are made of the documents of these rows."""
    try:
        texts = tuple(orjson.dumps(document).decode() for document in given)
        if any("\\u0000" in text for text in texts):
            find_unstorable(written, connection.dialect, None)
        if is_alone(connection):
            return fetch(connection, statement, texts)
        result = connection.exec_driver_sql(statement, texts)
    except (DBAPIError, TypeError) as refused:
        find_unstorable(written, connection.dialect, refused)
        raise
    return result.all() if result.returns_rows else []


def documents(
    table: Table, names: Names, rows: Rows, dialect: Dialect, from_now: Names = ()
) -> list[dict[str, object]]:
    """The rows with their values as JSON has them."""
    encoders = _encoders(table, names, from_now, dialect)
    made = []
    for row in rows:
        document = dict(row)
        for name, encode in encoders:
            value = document[name]
            if value is not None:
                document[name] = encode(value)
        made.append(document)
    return made


def record(table: Table, names: Names, dialect: Dialect, document: str = FIRST, from_now: Names = ()) -> str:
    """A document's rows, as something to select from."""
    types = {name: _plain(table.c[name].type.compile(dialect)) for name in names}
    types |= dict.fromkeys(from_now, "double precision")
    columns = ", ".join(f"{quoted(dialect, [name])} {type_}" for name, type_ in types.items())
    return f"json_to_recordset({document}) AS new ({columns})"


@lru_cache(maxsize=512)
def overwriting(dialect: Dialect, names: Names, key: Names) -> str:
    """What an insert does where `key` is taken: give that row the new one's other columns."""
    others = [quoted(dialect, [name]) for name in names if name not in key]
    values = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"ON CONFLICT ({quoted(dialect, key)}) DO UPDATE SET {values}"


def quoted(dialect: Dialect, names: Sequence[str]) -> str:
    return ", ".join(dialect.identifier_preparer.quote(name) for name in names)


@lru_cache(maxsize=512)
def inserting(
    table: Table, names: Names, dialect: Dialect, document: str = FIRST, from_now: Names = ()
) -> str:
    """What inserts a document's rows, called `new`."""
    into = f"INSERT INTO {dialect.identifier_preparer.format_table(table)} ({quoted(dialect, names)})"
    columns = ((name, f"new.{quoted(dialect, [name])}") for name in names)
    values = ", ".join(
        f"statement_timestamp() + make_interval(secs => {column})" if name in from_now else column
        for name, column in columns
    )
    return f"{into} SELECT {values} FROM {record(table, names, dialect, document, from_now)}"


@lru_cache(maxsize=512)
def _update(table: Table, names: Names, key: Names, dialect: Dialect) -> str:
    name_of = dialect.identifier_preparer.format_table(table)
    columns = {name: quoted(dialect, [name]) for name in names}
    values = ", ".join(f"{columns[name]} = new.{columns[name]}" for name in names if name not in key)
    found = " AND ".join(f"{name_of}.{columns[name]} = new.{columns[name]}" for name in key)
    return f"UPDATE {name_of} SET {values} FROM {record(table, names, dialect)} WHERE {found}"


@lru_cache(maxsize=64)
def _present(table: Table, column: str, dialect: Dialect) -> str:
    name = quoted(dialect, [column])
    some = f"SELECT FROM {dialect.identifier_preparer.format_table(table)} WHERE {name} = wanted.value"
    return (
        f"SELECT value FROM json_array_elements_text($1::text::json) AS wanted (value) WHERE EXISTS ({some})"
    )


@lru_cache(maxsize=64)
def _lock(table: Table, key: str, columns: Names, dialect: Dialect) -> str:
    one = f"SELECT {quoted(dialect, columns)} FROM {dialect.identifier_preparer.format_table(table)}"
    found = f"{one} WHERE {quoted(dialect, [key])} = wanted.key FOR UPDATE"
    keys = "json_array_elements_text($1::text::json) AS wanted (key)"
    return f"SELECT found.* FROM {keys} CROSS JOIN LATERAL ({found}) AS found"


@lru_cache(maxsize=512)
def _encoders(
    table: Table, names: Names, from_now: Names, dialect: Dialect
) -> tuple[tuple[str, Encoder], ...]:
    """The columns that do not go as they are, with how they are encoded. A text that cannot be stored is
    looked for only when the database refuses it: it does so by itself."""
    encoders = {name: _encoder(table.c[name].type, dialect) for name in names}
    encoders |= dict.fromkeys(from_now, timedelta.total_seconds)
    return tuple((name, encode) for name, encode in encoders.items() if encode is not None)


def _encoder(column_type: TypeEngine[Any], dialect: Dialect) -> Encoder | None:
    match column_type:
        case JsonValue():
            return _fragment
        case UtcTime():
            return lambda at: at if at.tzinfo is UTC else column_type.process_bind_param(at, dialect)
        case Bytes():
            return lambda data: f"\\x{data.hex()}"
        case _:
            return None


def _fragment(value: Any) -> orjson.Fragment:
    return orjson.Fragment(str(value) if type(value) is JsonText else json_text(value))


def find_unstorable(written: Sequence[Written], dialect: Dialect, refused: Exception | None) -> None:
    """Raise `Unstorable` if a value is what was refused."""
    for table, name, rows in ((table, name, rows) for table, names, rows in written for name in names):
        encode = encoder(table.c[name].type, dialect)
        for row in rows:
            try:
                if encode is not None and not isinstance(row[name], timedelta):
                    encode(row[name])
            except Unstorable as found:
                raise found from refused


def _plain(compiled: str) -> str:
    # Without its length: a cast to VARCHAR(36) would cut a longer text instead of refusing it.
    return compiled.partition("(")[0].partition(" COLLATE ")[0] if "CHAR" in compiled else compiled
