"""What the three databases spell differently means the same on each."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import IntegrityError

from clocks import NOON
from muster.model.problems import AuthorError
from muster.store.database import Database
from muster.store.dialect import (
    insert_new,
    insert_rows,
    lock_rows,
    now,
    present,
    upsert,
    utc_now,
    violated_key,
)
from muster.store.tables import api_token, large_value, node_template
from polling import PATIENCE


def template_rows(*names: str, version: int = 1) -> list[dict[str, object]]:
    return [
        {
            "id": name,
            "name": name.upper(),
            "node_type": "QUERY",
            "config_json": {"n": name},
            "version": version,
        }
        for name in names
    ]


def token_row(token_id: str, **more: object) -> dict[str, object]:
    row = {"id": token_id, "name": "x", "token_hash": token_id, "roles": [], "created_by": "me"}
    return row | {"created_at": NOON} | more


def templates(connection: Connection) -> dict[str, tuple[str, int]]:
    return {row.id: (row.name, row.version) for row in connection.execute(select(node_template))}


async def test_many_rows_are_inserted_and_defaults_filled_in(database: Database) -> None:
    rows = template_rows(*(f"t{number}" for number in range(3_000)))
    await database.write(lambda c: insert_rows(c, node_template, rows))
    found = await database.read(lambda c: c.execute(select(node_template)).all())
    assert len(found) == 3_000
    assert {row.institute_id for row in found} == {""}
    assert all(row.config_json == {"n": row.id} for row in found)


async def test_inserting_no_rows_does_nothing(database: Database) -> None:
    await database.write(lambda c: insert_rows(c, node_template, []))
    assert await database.write(lambda c: insert_new(c, node_template, [], ["id"])) == set()
    await database.write(lambda c: upsert(c, node_template, [], ["id"]))
    assert await database.read(templates) == {}


async def test_rows_that_name_different_columns_are_refused(database: Database) -> None:
    rows = [*template_rows("a"), template_rows("b")[0] | {"institute_id": "north"}]
    with pytest.raises(ValueError, match="name different columns"):
        await database.write(lambda c: insert_rows(c, node_template, rows))


async def test_a_text_that_is_too_long_is_refused_and_never_cut(database: Database) -> None:
    with pytest.raises(AuthorError, match="at most 255"):
        await database.write(lambda c: insert_rows(c, node_template, template_rows("x" * 256)))
    assert await database.read(templates) == {}


async def test_of_rows_with_a_key_in_use_only_the_new_ones_are_inserted_and_named(database: Database) -> None:
    key = ["institute_id", "id"]
    first = [row | {"institute_id": ""} for row in template_rows("a", "b")]
    second = [row | {"institute_id": ""} for row in template_rows("b", "c", "c", version=2)]
    assert await database.write(lambda c: insert_new(c, node_template, first, key)) == {("", "a"), ("", "b")}
    assert await database.write(lambda c: insert_new(c, node_template, second, key)) == {("", "c")}
    assert await database.read(templates) == {"a": ("A", 1), "b": ("B", 1), "c": ("C", 2)}


async def test_an_upsert_changes_what_is_there_and_adds_what_is_not(database: Database) -> None:
    def rows(*names: str, version: int) -> list[dict[str, object]]:
        return [row | {"institute_id": ""} for row in template_rows(*names, version=version)]

    key = ["institute_id", "id"]
    await database.write(lambda c: upsert(c, node_template, rows("a", "b", version=1), key))
    await database.write(lambda c: upsert(c, node_template, rows("b", "c", version=2), key))
    assert await database.read(templates) == {"a": ("A", 1), "b": ("B", 2), "c": ("C", 2)}


async def test_locked_rows_come_in_the_order_of_their_keys_without_those_that_are_not_there(
    database: Database,
) -> None:
    await database.write(lambda c: insert_rows(c, node_template, template_rows("b", "a", "c")))
    found = await database.write(
        lambda c: lock_rows(c, node_template, "id", ["c", "nobody", "a"], ("id", "version"))
    )
    assert [(row.id, row.version) for row in found] == [("a", 1), ("c", 1)]


async def test_values_that_are_in_a_column_are_told_from_those_that_are_not(database: Database) -> None:
    await database.write(lambda c: insert_rows(c, node_template, template_rows("a", "b")))
    assert await database.read(lambda c: present(c, node_template, "id", ["b", "none", "a"])) == {"a", "b"}
    assert await database.read(lambda c: present(c, node_template, "id", [])) == set()


async def test_times_of_new_rows_can_be_told_by_how_far_they_are_from_now(database: Database) -> None:
    """By the database's clock, whatever the caller's says."""
    row = token_row("t", created_at=timedelta(), expires_at=timedelta(hours=1))
    times = ("created_at", "expires_at")
    await database.write(lambda c: insert_new(c, api_token, [row], ("id",), times))
    found = await database.read(lambda c: c.execute(select(api_token)).one())
    at = await database.read(now)
    assert at - timedelta(minutes=10) < found.created_at <= at
    assert found.expires_at - found.created_at == timedelta(hours=1)


async def test_a_value_that_is_missing_is_no_broken_key(database: Database) -> None:
    with pytest.raises(IntegrityError) as refused:
        await database.write(lambda c: insert_rows(c, api_token, [token_row("a", created_by=None)]))
    assert violated_key(refused.value, api_token) is None


async def test_a_time_without_a_zone_is_refused(database: Database) -> None:
    row = token_row("t", expires_at=NOON.replace(tzinfo=None))
    with pytest.raises(AuthorError, match="has no time zone"):
        await database.write(lambda c: insert_rows(c, api_token, [row]))


async def test_the_databases_clock_can_be_written_and_compared_within_a_statement(database: Database) -> None:
    await database.write(lambda c: insert_rows(c, api_token, [token_row("t", expires_at=NOON)]))
    await database.write(lambda c: c.execute(update(api_token).values(last_used_at=utc_now())))
    past = select(api_token.c.last_used_at).where(api_token.c.last_used_at <= utc_now())
    found = await database.read(lambda c: c.execute(past).scalar_one())
    assert abs(found - datetime.now(UTC)) < timedelta(seconds=PATIENCE)


async def test_only_a_key_that_is_taken_is_passed_over(database: Database) -> None:
    """A row that refers to nothing is an error, on its own and among others."""
    part = {"sha256": "s", "part": 0, "size": 1, "data": b"x"}
    rows = [{**part, "execution_id": "nobody"}]
    key = ("execution_id", "sha256", "part")
    with pytest.raises(IntegrityError):
        await database.write(lambda connection: insert_new(connection, large_value, rows, key))
    nameless = [{**row, "institute_id": "", "name": None} for row in template_rows("a")]
    with pytest.raises(IntegrityError):
        await database.write(
            lambda connection: insert_new(connection, node_template, nameless, ["institute_id", "id"])
        )
