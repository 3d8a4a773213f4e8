"""Hostile text in every place that a workflow can fill of a query or an action: it stays a value, on every
database, or is refused by name; the tables are as they were."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from clocks import NOON, FakeClock
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.expr import Scope
from muster.model.json import Json, JsonObject
from muster.model.registered import ActionDefinition, PrebuiltQuery, SourceDraft
from muster.model.stored import AuditEntry
from muster.nodes.action import Action
from muster.nodes.query import Query
from muster.store.database import Database
from muster.store.queries import ActionRepository, QueryRepository, RegisteredRepository
from muster.store.sources import SourceRepository
from muster.store.sql_runner import SqlRunner

AUDIT = AuditEntry("thing", "x", "create", "ada")
HOSTILE = [
    "'; DROP TABLE victim; --",
    "' OR '1'='1",
    "' OR 1=1 -- ",
    "') OR ('1'='1",
    '" OR ""="',
    "\\'; DROP TABLE victim; --",
    "\\",
    "1; DROP TABLE victim",
    "1 OR 1=1",
    "1 UNION SELECT name FROM victim",
    "0x27204f5220313d31",
    "%27%20OR%201=1",
    "\u02bc OR 1=1 --",
    "\u02bc; DROP TABLE victim; --",
    "\uff07 OR 1=1",
    "¿' OR 1=1 -- ",
    ":id",
    ":_key",
    ":name; DROP TABLE victim",
    "\\:id",
    "?",
    "$1",
    "%s %(name)s {name} {0}",
    "%",
    "_",
    "/* */ OR 1=1",
    "/*!50000 OR 1=1*/",
    "'/**/OR/**/1=1#",
    "'; SELECT pg_sleep(9); --",
    "' AND sleep(9) -- ",
    "$$; DROP TABLE victim; $$",
    "NULL",
    "DEFAULT",
    "CURRENT_USER",
    "\r\n; DROP TABLE victim",
    "\x1a",
    "'; PRAGMA writable_schema = ON; --",
    "'; COPY victim TO PROGRAM 'id'; --",
    "' INTO OUTFILE '/tmp/x",
    "Robert'); DROP TABLE victim;--",
]
NUMBERS: JsonObject = {
    "id": {"type": "integer"},
    "share": {"type": "number"},
    "flag": {"type": "boolean"},
    "moment": {"type": "string", "format": "date-time"},
    "day": {"type": "string", "format": "date"},
    "many": {"type": "array", "items": {"type": "integer"}},
}


class Victim:
    """A table, with queries and actions on it that a workflow may call."""

    def __init__(self, database: Database, url: str, folder: Path) -> None:
        clock = FakeClock()
        self.database, self.url = database, url
        self.sources = SourceRepository(database, clock, None, folder)
        self.queries, self.actions = QueryRepository(database, clock), ActionRepository(database, clock)
        self.runner = SqlRunner(self.sources, clock)
        registered = RegisteredRepository(database)
        self._query, self._action = Query(registered, self.runner), Action(registered, self.runner, {})

    async def open(self) -> None:
        await self.directly("CREATE TABLE victim (id INTEGER PRIMARY KEY, name VARCHAR(200))")
        await self.directly("INSERT INTO victim VALUES (1, 'ink'), (2, 'paper')")
        await self.sources.create(SourceDraft("shop", "", self.url, may_use_files=True), AUDIT)

    async def close(self) -> None:
        await self.runner.close()
        await self.directly("DROP TABLE victim")

    async def directly(self, sql: str) -> None:
        await self.database.write(lambda connection: connection.execute(text(sql)))

    async def rows(self) -> list[tuple[int, str]]:
        wanted = text("SELECT id, name FROM victim ORDER BY id")
        return await self.database.read(lambda c: [(row[0], row[1]) for row in c.execute(wanted)])

    async def has_query(self, sql: str, schema: JsonObject | None = None) -> None:
        query = PrebuiltQuery("getRows", "", "shop", sql, "rows", NOON, NOON, schema)
        await self.queries.create(query, AUDIT)

    async def has_action(self, *sql: str, schema: JsonObject | None = None) -> None:
        await self.actions.create(ActionDefinition("act", "", "shop", sql, NOON, NOON, schema), AUDIT)

    async def ask(self, params: Json, key: str = "getRows", **facts: str) -> Done | Failure:
        return await self._query({"prebuiltKey": key, "params": params}, call(None, **facts))

    async def act(self, item: Json, params: Json = None, key: str = "act", **facts: str) -> Done | Failure:
        return await self._action({"actionType": key, "params": params}, call(item, **facts))


def call(item: Json, institute: str = "north", item_key: str = "k") -> Call:
    return Call("e1", "w1", institute, "n1", 1, 1, Scope({"item": item}, NOON), item_key)


@pytest.fixture
async def victim(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Victim]:
    made = Victim(database, database_url, tmp_path)
    await made.open()
    yield made
    assert await made.rows() == [(1, "ink"), (2, "paper")], "nothing has changed"
    await made.close()


async def test_a_value_of_a_query_stays_a_value_wherever_it_stands(victim: Victim) -> None:
    await victim.has_query(
        "SELECT :value AS said, count(*) AS found FROM victim"
        " WHERE name = :value OR name LIKE :same OR name IN :many"
    )
    for hostile in HOSTILE:
        same = re.sub(r"[%_\\]", "x", hostile)
        outcome = await victim.ask({"value": hostile, "same": same, "many": [hostile, hostile]})
        assert outcome == Done(
            {"rows": [{"said": hostile, "found": 0}]}, {"rows": [{"said": hostile, "found": 0}]}
        ), hostile


async def test_what_a_schema_says_is_a_number_a_time_or_a_list_is_never_text(victim: Victim) -> None:
    names = ", ".join(f":{name} AS {name}" for name in ("id", "share", "flag", "moment", "day"))
    await victim.has_query(
        f"SELECT {names} FROM victim WHERE id IN :many", {"properties": NUMBERS, "required": []}
    )
    for hostile in HOSTILE:
        for name in NUMBERS:
            given: list[Json] = [hostile]
            outcome = await victim.ask({name: given if name == "many" else hostile})
            assert isinstance(outcome, Failure)
            assert (outcome.type, outcome.retryable) == ("BadParameter", False), (name, hostile)
            assert hostile not in outcome.message or len(hostile) < 3


async def test_without_a_schema_text_is_text_where_a_number_belongs(victim: Victim) -> None:
    """`LIMIT`, arithmetic and numeric comparison: the database may refuse it, and never runs it."""
    for sql in (
        "SELECT id FROM victim WHERE id = :value ORDER BY id",
        "SELECT id FROM victim WHERE id > 99 ORDER BY id LIMIT :value",
        "SELECT id FROM victim WHERE id = 0 + :value",
    ):
        await victim.has_query(sql)
        for hostile in HOSTILE:
            outcome = await victim.ask({"value": hostile})
            if isinstance(outcome, Failure):
                assert outcome.type == "DatabaseRefused", outcome
                assert len(hostile) < 3 or hostile not in outcome.message
            else:
                # MariaDB and SQLite read a leading number out of a text: `1 OR 1=1` is 1, and no condition.
                assert outcome.output in ({"rows": []}, {"rows": [{"id": 1}]}), (sql, hostile)
        await victim.queries.delete("", "getRows", AUDIT)


async def test_names_of_parameters_cannot_be_made_up(victim: Victim) -> None:
    await victim.has_query("SELECT id FROM victim WHERE name = :name")
    await victim.has_action("UPDATE victim SET name = :name WHERE id = :id AND 1 = 0")
    for hostile in [*HOSTILE, "_key", "_now", "_instituteId", "name ", "NAME", "name'", "na:me"]:
        asked = await victim.ask({"name": "x", hostile: "y"})
        assert isinstance(asked, Failure), hostile
        assert asked.type == "BadParameter"
        acted = await victim.act({"id": 1, "name": "x", hostile: "y"})
        assert acted == Done({"affectedRows": 0}), (
            "an item may have any fields, and only those named are used"
        )
        acted = await victim.act({"id": 1, "name": "x"}, {hostile: "y"})
        assert isinstance(acted, Failure)
        assert acted.type == "BadParameter"


async def test_keys_of_queries_and_actions_are_looked_up_and_nothing_else(victim: Victim) -> None:
    for hostile in HOSTILE:
        asked, acted = await victim.ask({}, key=hostile), await victim.act({}, key=hostile)
        assert isinstance(asked, Failure)
        assert isinstance(acted, Failure)
        assert (asked.type, acted.type) == ("UnknownQuery", "UnknownAction")


async def test_what_is_always_given_is_bound_too(victim: Victim) -> None:
    """The item's key and the institute come from data, and end up in every statement that asks for them."""
    await victim.has_query("SELECT :_key AS k, :_instituteId AS i FROM victim WHERE id = 1 OR name = :_key")
    for hostile in HOSTILE:
        outcome = await victim.ask({}, institute=hostile, item_key=hostile)
        assert isinstance(outcome, Done), outcome
        assert outcome.output == {"rows": [{"k": f"e1:n1:1:{hostile}", "i": hostile}]}


async def test_an_items_fields_and_params_of_an_action_stay_values(victim: Victim) -> None:
    await victim.directly("INSERT INTO victim VALUES (3, 'mine')")
    await victim.has_action(
        "UPDATE victim SET name = :name WHERE id = :id AND name <> :other",
        "UPDATE victim SET name = :name WHERE id = :id",
    )
    for hostile in HOSTILE:
        outcome = await victim.act({"id": 3, "name": hostile}, {"other": hostile})
        assert isinstance(outcome, Done), (hostile, outcome)
        assert (await victim.rows())[2] == (3, hostile)
    await victim.directly("DELETE FROM victim WHERE id = 3")


@pytest.mark.parametrize("value", [{"$gt": ""}, {"a": "' OR 1=1"}, [["x"]], [{"x": 1}], [1, "1"], "a\0b"])
async def test_what_is_no_single_value_and_no_plain_list_is_refused(victim: Victim, value: Json) -> None:
    await victim.has_query("SELECT id FROM victim WHERE name IN :value")
    outcome = await victim.ask({"value": value})
    assert isinstance(outcome, Failure)
    assert outcome.type == "BadParameter"


async def test_numbers_of_any_size_and_times_of_any_age_stay_what_they_are(victim: Victim) -> None:
    schema: JsonObject = {"properties": {"moment": {"type": "string", "format": "date-time"}}}
    await victim.has_query("SELECT count(*) AS n FROM victim WHERE id = :big OR id = :small")
    found = await victim.ask({"big": 2**63 - 1, "small": -(2**63)})
    assert isinstance(found, Done)
    assert found.output == {"rows": [{"n": 0}]}
    await victim.queries.delete("", "getRows", AUDIT)
    await victim.has_query("SELECT count(*) AS n FROM victim WHERE :moment < :_now", schema)
    early = datetime(1970, 1, 2, tzinfo=UTC).isoformat()
    found = await victim.ask({"moment": early})
    assert isinstance(found, Done)
    assert found.output == {"rows": [{"n": 2}]}
