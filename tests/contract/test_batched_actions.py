"""Actions in SQL over a list: many items in one transaction, each with its own outcome, on every database."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, text

from clocks import NOON, FakeClock
from muster.engine.handlers import BatchEffect, Call, Done
from muster.engine.state import Failure
from muster.expr import Scope
from muster.model.json import Json, JsonObject
from muster.model.registered import ActionDefinition, SourceDraft
from muster.model.stored import AuditEntry
from muster.nodes.action import Action
from muster.store.database import Database
from muster.store.queries import ActionRepository, RegisteredRepository
from muster.store.sources import SourceRepository
from muster.store.sql_runner import SqlRunner

AUDIT = AuditEntry("thing", "x", "create", "ada")
INSERT = "INSERT INTO batch_item (id, name) VALUES (:id, :name)"
UPDATE = "UPDATE batch_item SET name = :name WHERE id = :id"


class Shop:
    def __init__(self, database: Database, url: str, folder: Path) -> None:
        clock = FakeClock()
        self.database, self.url = database, url
        self.sources = SourceRepository(database, clock, None, folder)
        self.actions = ActionRepository(database, clock)
        self.runner = SqlRunner(self.sources, clock)
        self.action = Action(RegisteredRepository(database), self.runner, {"inPython": refuse})

    async def open(self) -> None:
        columns = "id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE, note VARCHAR(99)"
        await self.directly(f"CREATE TABLE batch_item ({columns})")
        await self.sources.create(SourceDraft("shop", "", self.url, may_use_files=True), AUDIT)

    async def close(self) -> None:
        await self.runner.close()
        await self.directly("DROP TABLE batch_item")

    async def directly(self, sql: str) -> None:
        await self.database.write(lambda connection: connection.execute(text(sql)))

    async def names(self) -> dict[int, str]:
        wanted = text("SELECT id, name FROM batch_item ORDER BY id")
        return await self.database.read(lambda c: {row[0]: row[1] for row in c.execute(wanted)})

    async def together(
        self, items: Sequence[Json], *sql: str, schema: JsonObject | None = None
    ) -> Sequence[Done | Failure]:
        if await self.actions.get("", "act") is not None:
            await self.actions.delete("", "act", AUDIT)
        await self.actions.create(ActionDefinition("act", "", "shop", sql, NOON, NOON, schema), AUDIT)
        return await self.action.together(
            [({"actionType": "act"}, call(item, n)) for n, item in enumerate(items)]
        )


async def refuse(params: JsonObject, call: Call) -> Json | Failure:
    raise AssertionError("functions are called one by one")


def call(item: Json, number: int) -> Call:
    return Call("e1", "w1", "", "n1", 1, 1, Scope({"item": item}, NOON), str(number))


def people(count: int) -> list[Json]:
    return [{"id": number, "name": f"n{number}", "more": {"than": "needed"}} for number in range(count)]


@contextmanager
def counted(name: str) -> Iterator[list[object]]:
    """Every commit, or every statement that goes to a driver."""
    seen: list[object] = []

    def note(*given: object) -> None:
        seen.append(given)

    event.listen(Engine, name, note)
    try:
        yield seen
    finally:
        event.remove(Engine, name, note)


@pytest.fixture
async def shop(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Shop]:
    made = Shop(database, database_url, tmp_path)
    await made.open()
    yield made
    await made.close()


async def test_five_hundred_inserts_are_one_statement_and_one_commit(shop: Shop) -> None:
    await shop.together(people(1), INSERT)
    await shop.directly("DELETE FROM batch_item")
    with counted("commit") as commits, counted("before_cursor_execute") as statements:
        outcomes = await shop.action.together(
            [({"actionType": "act"}, call(item, n)) for n, item in enumerate(people(500))]
        )
    assert outcomes == [Done({"affectedRows": 1})] * 500
    assert len(commits) == 1
    inserts = [given for given in statements if "INSERT" in str(given[2])]  # type: ignore[index]  # its arguments
    assert len(inserts) == 1
    assert len(await shop.names()) == 500


async def test_other_statements_share_the_commit_and_each_knows_what_it_changed(shop: Shop) -> None:
    await shop.together(people(10), INSERT)
    changes: list[Json] = [{"id": number, "name": f"m{number}"} for number in range(5, 15)]
    with counted("commit") as commits:
        outcomes = await shop.together(changes, UPDATE)
    assert [outcome.output for outcome in outcomes if isinstance(outcome, Done)] == [
        {"affectedRows": int(number < 10)} for number in range(5, 15)
    ]
    registering = 2
    assert len(commits) == registering + 1


async def test_a_bad_item_fails_alone_and_says_why_without_its_values(shop: Shop) -> None:
    items = people(100)
    items[17] = {"id": 17, "name": "n3"}
    items[42] = {"id": 42}
    items[63] = {"id": 63, "name": None}
    for sql in (INSERT, "INSERT INTO batch_item (id, name) SELECT :id, :name"):
        await shop.directly("DELETE FROM batch_item")
        outcomes = await shop.together(
            items, sql, schema={"properties": {"id": {"type": "integer"}, "name": {}}}
        )
        failed = {n: outcome for n, outcome in enumerate(outcomes) if isinstance(outcome, Failure)}
        assert sorted(failed) == [17, 42, 63]
        assert {failure.type for failure in failed.values()} == {"DatabaseRefused"}
        assert len(await shop.names()) == 97
        assert not failed[17].retryable
    missing = await shop.together(items[42:43] + items[:1], UPDATE)
    assert [type(each) for each in missing] == [Failure, Done]
    assert "the parameter `name` is missing" in str(missing[0])


async def test_statements_of_one_item_are_all_written_or_none(shop: Shop) -> None:
    two = (INSERT, "UPDATE batch_item SET name = :other WHERE id = :id")
    items: list[Json] = [
        {"id": n, "name": f"n{n}", "other": "same" if n in (2, 3) else f"o{n}"} for n in range(6)
    ]
    outcomes = await shop.together(items, *two)
    assert [isinstance(outcome, Done) for outcome in outcomes] == [True, True, True, False, True, True]
    assert outcomes[0] == Done({"affectedRows": 2})
    assert sorted(await shop.names()) == [0, 1, 2, 4, 5]


async def test_items_of_different_kinds_go_together_all_the_same(shop: Shop) -> None:
    sql = "INSERT INTO batch_item (id, name, note) VALUES (:id, :name, :note)"
    notes: list[Json] = ["text", None, "2026-01-01", "x" * 99]
    schema: JsonObject = {"properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "note": {}}}
    items: list[Json] = [{"id": n, "name": f"n{n}", "note": note} for n, note in enumerate(notes)]
    assert await shop.together(items, sql, schema=schema) == [Done({"affectedRows": 1})] * 4
    huge: list[Json] = [{"id": 2**70, "name": "huge"}, {"id": 9, "name": "nine"}]
    outcomes = await shop.together(huge, INSERT)
    assert [type(outcome) for outcome in outcomes] == [Failure, Done]


async def test_each_item_has_its_own_key(shop: Shop) -> None:
    sql = "INSERT INTO batch_item (id, name) VALUES (:id, :_key)"
    await shop.together([{"id": 1}, {"id": 2}], sql)
    assert await shop.names() == {1: "e1:n1:1:0", 2: "e1:n1:1:1"}


async def test_a_source_that_is_away_is_asked_once_and_all_may_try_again(shop: Shop, tmp_path: Path) -> None:
    away = SourceDraft("away", "", "postgresql://u@127.0.0.1:1/none")
    await shop.sources.create(away, AUDIT)
    await shop.actions.create(ActionDefinition("out", "", "away", (UPDATE,), NOON, NOON), AUDIT)
    asked = [({"actionType": "out"}, call(item, n)) for n, item in enumerate(people(50))]
    outcomes = await shop.action.together(asked)  # type: ignore[arg-type]  # JSON, as it stands
    assert {(o.type, o.retryable) for o in outcomes if isinstance(o, Failure)} == {
        ("SourceUnavailable", True)
    }
    assert len(outcomes) == 50


async def test_sql_goes_together_and_functions_do_not(shop: Shop) -> None:
    assert isinstance(shop.action, BatchEffect)
    assert shop.action.does_together({"actionType": "act"})
    assert not shop.action.does_together({"actionType": "inPython"})
    unknown = await shop.action.together([({"actionType": "nobody"}, call({}, n)) for n in range(3)])
    assert [each.type for each in unknown if isinstance(each, Failure)] == ["UnknownAction"] * 3
    assert await shop.action.together([]) == []
