"""Registered SQL on real databases: bound, bounded, read-only where it reads, whole where it writes."""

from collections.abc import AsyncIterator
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
from muster.nodes.data_ports import Target
from muster.nodes.query import Query
from muster.store.database import Database
from muster.store.queries import ActionRepository, QueryRepository, RegisteredRepository
from muster.store.secrets import SecretRepository
from muster.store.sources import SourceRepository
from muster.store.sql_runner import SqlRunner
from muster.store.vault import Vault

AUDIT = AuditEntry("thing", "x", "create", "ada")
HOSTILE = [
    "'; DROP TABLE shop_order; --",
    "x' OR '1'='1",
    '" OR ""="',
    "\\'; DELETE FROM shop_order; --",
    ":_key",
    "%s %(a)s ? $1",
    "/* */ UNION SELECT 1",
    "Robert'); DROP TABLE shop_order;--",
]
TEN = (
    "WITH n(i) AS (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5"
    " UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10)"
)
TEN_THOUSAND = f"{TEN} SELECT a.i FROM n a, n b, n c, n d"
FOREVER = f"{TEN} SELECT count(*) AS c FROM n a, n b, n c, n d, n e, n f, n g, n h, n j, n k"


class Shop:
    """A data source with one table, and queries and actions registered on it as a test goes."""

    def __init__(self, database: Database, url: str, folder: Path) -> None:
        clock, vault = FakeClock(), Vault.of("A" * 43 + "=")
        self.database, self.url, self.clock, self.folder = database, url, clock, folder
        self.sources = SourceRepository(database, clock, vault, folder)
        self.secrets = SecretRepository(database, clock, vault)
        self.queries, self.actions = QueryRepository(database, clock), ActionRepository(database, clock)
        self.runner = SqlRunner(self.sources, clock)
        registered = RegisteredRepository(database)
        self.query_handler = Query(registered, self.runner)
        self.action_handler = Action(registered, self.runner, {})

    async def open(self) -> None:
        await self.run_directly(
            "CREATE TABLE shop_order (id INTEGER PRIMARY KEY, name VARCHAR(200), price NUMERIC(12, 2))"
        )
        await self.fill()
        await self.sources.create(SourceDraft("shop", "", self.url, may_use_files=True), AUDIT)

    async def fill(self) -> None:
        await self.run_directly("INSERT INTO shop_order VALUES (1, 'ink', 1.25), (2, 'paper', 10)")

    async def close(self) -> None:
        await self.runner.close()
        await self.run_directly("DROP TABLE shop_order")

    async def run_directly(self, sql: str) -> None:
        await self.database.write(lambda connection: connection.execute(text(sql)))

    async def names(self) -> list[str]:
        wanted = text("SELECT name FROM shop_order ORDER BY id")
        return await self.database.read(lambda c: list(c.execute(wanted).scalars()))

    async def query(self, sql: str, params: JsonObject | None = None, **facts: object) -> Done | Failure:
        if await self.queries.get("", "getRows") is not None:
            await self.queries.delete("", "getRows", AUDIT)
        query = PrebuiltQuery("getRows", "", "shop", sql, "rows", NOON, NOON, **facts)  # type: ignore[arg-type]
        await self.queries.create(query, AUDIT)
        return await self.query_handler({"prebuiltKey": "getRows", "params": params}, call())

    async def rows(self, sql: str, params: JsonObject | None = None, **facts: object) -> Json:
        outcome = await self.query(sql, params, **facts)
        assert isinstance(outcome, Done), outcome
        assert outcome.output == outcome.changes
        return outcome.changes["rows"]

    async def act(
        self, *sql: str, item: Json = None, params: JsonObject | None = None, **facts: object
    ) -> Done | Failure:
        if await self.actions.get("", "act") is not None:
            await self.actions.delete("", "act", AUDIT)
        action = ActionDefinition("act", "", "shop", sql, NOON, NOON, **facts)  # type: ignore[arg-type]
        await self.actions.create(action, AUDIT)
        given: JsonObject = {"actionType": "act"} | ({} if params is None else {"params": params})
        return await self.action_handler(given, call(item))


def call(item: Json = None) -> Call:
    return Call("e1", "w1", "north", "n1", 1, 1, Scope({"item": item}, NOON), "k")


@pytest.fixture
async def shop(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Shop]:
    made = Shop(database, database_url, tmp_path)
    await made.open()
    yield made
    await made.close()


# --- values are bound, always ----------------------------------------------------------------------


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_sql_in_a_parameter_of_a_query_is_nothing_but_a_value(shop: Shop, hostile: str) -> None:
    sql = "SELECT :a AS a, name FROM shop_order WHERE name = :b OR name IN :c OR id = 1"
    rows = await shop.rows(sql, {"a": hostile, "b": hostile, "c": [hostile, "x"]})
    assert rows == [{"a": hostile, "name": "ink"}]
    assert await shop.names() == ["ink", "paper"]


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_sql_in_a_parameter_of_an_action_is_nothing_but_a_value(shop: Shop, hostile: str) -> None:
    sql = "UPDATE shop_order SET name = :name WHERE id = :id AND name <> :other"
    outcome = await shop.act(sql, item={"id": 2, "name": hostile}, params={"other": hostile})
    assert outcome == Done({"affectedRows": 1})
    assert await shop.names() == ["ink", hostile]


async def test_each_kind_of_value_arrives_as_what_it_is(shop: Shop) -> None:
    schema: JsonObject = {
        "properties": {
            "whole": {"type": "integer"},
            "share": {"type": "number"},
            "flag": {"type": "boolean"},
            "absent": {"type": ["string", "null"]},
            "moment": {"type": "string", "format": "date-time"},
            "day": {"type": "string", "format": "date"},
        }
    }
    sql = (
        "SELECT :whole + 1 AS whole, :share * 2 AS share, CASE WHEN :flag THEN 'yes' ELSE 'no' END AS flag,"
        " coalesce(:absent, 'none') AS absent, CASE WHEN :moment < :_now THEN 1 ELSE 0 END AS earlier,"
        " CASE WHEN :day < CAST('2026-06-01' AS CHAR(10)) THEN 1 ELSE 0 END AS before_june"
    )
    if shop.database.dialect_name == "postgresql":
        sql = sql.replace("CAST('2026-06-01' AS CHAR(10))", "DATE '2026-06-01'")
    params: JsonObject = {"whole": 41, "share": 0.5, "flag": True, "moment": "2026-01-01T00:00:00Z"}
    rows = await shop.rows(sql, {**params, "day": "2026-05-31"}, params_schema=schema)
    assert rows == [
        {"whole": 42, "share": 1.0, "flag": "yes", "absent": "none", "earlier": 1, "before_june": 1}
    ]


async def test_a_list_stands_behind_in_and_an_empty_one_finds_nothing(shop: Shop) -> None:
    sql = "SELECT name FROM shop_order WHERE id IN :ids ORDER BY id"
    assert await shop.rows(sql, {"ids": [2, 1]}) == [{"name": "ink"}, {"name": "paper"}]
    schema: JsonObject = {"properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    assert await shop.rows(sql, {"ids": []}, params_schema=schema) == []
    assert await shop.rows(sql, {}, params_schema=schema) == []


# --- reading ---------------------------------------------------------------------------------------


async def test_rows_are_json(shop: Shop) -> None:
    assert await shop.rows("SELECT id, name, price FROM shop_order ORDER BY id") == [
        {"id": 1, "name": "ink", "price": 1.25},
        {"id": 2, "name": "paper", "price": 10},
    ]
    assert await shop.rows("SELECT id FROM shop_order WHERE id = 7") == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE shop_order SET name = 'gone'",
        "DELETE FROM shop_order",
        "INSERT INTO shop_order VALUES (3, 'x', 1)",
        "CREATE TABLE shop_more (id INTEGER)",
        "DROP TABLE shop_order",
        "WITH w AS (SELECT 1) UPDATE shop_order SET name = 'gone'",
    ],
)
async def test_a_query_cannot_write_whatever_it_says(shop: Shop, sql: str) -> None:
    """Registering refuses most of these; what counts is that none could run."""
    outcome = await shop.query(sql)
    assert isinstance(outcome, Failure)
    assert not outcome.retryable
    assert await shop.names() == ["ink", "paper"]


async def test_a_query_that_writes_leaves_the_source_usable_for_actions(shop: Shop) -> None:
    await shop.query("DELETE FROM shop_order")
    assert await shop.act("UPDATE shop_order SET name = 'new' WHERE id = 1") == Done({"affectedRows": 1})


async def test_more_rows_than_allowed_are_an_error_that_says_so(shop: Shop) -> None:
    outcome = await shop.query("SELECT id FROM shop_order", max_rows=1)
    assert outcome == Failure(
        "TooManyRows",
        "query `getRows`: it finds more than 1 rows, which is the most it may: narrow it, or raise `maxRows`",
    )
    assert await shop.rows("SELECT id FROM shop_order ORDER BY id", max_rows=2) == [{"id": 1}, {"id": 2}]


async def test_what_takes_too_long_is_ended(shop: Shop) -> None:
    outcome = await shop.query(FOREVER, timeout_seconds=1)
    assert outcome == Failure("StatementTimeout", "query `getRows`: it took longer than 1 s", retryable=True)
    assert await shop.rows("SELECT 1 AS one") == [{"one": 1}]


async def test_two_columns_of_one_name_are_refused(shop: Shop) -> None:
    outcome = await shop.query("SELECT 1 AS a, 2 AS a")
    assert isinstance(outcome, Failure)
    assert "two columns are called `a`" in outcome.message


async def test_a_mistake_in_the_sql_is_told_without_the_values(shop: Shop) -> None:
    outcome = await shop.query("SELECT * FROM no_such_table WHERE x = :x", {"x": "private"})
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("DatabaseRefused", False)
    assert "no_such_table" in outcome.message
    assert "private" not in outcome.message
    assert "class" not in outcome.message


async def test_a_value_that_the_database_repeats_in_its_error_goes_no_further(shop: Shop) -> None:
    outcome = await shop.act("INSERT INTO shop_order (id) VALUES (:id)", item={"id": "private"})
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("DatabaseRefused", False)
    assert "private" not in outcome.message


async def test_only_so_many_rows_are_ever_sent(shop: Shop) -> None:
    if shop.database.dialect_name == "mariadb":
        assert await shop.rows("SELECT @@sql_select_limit AS most", max_rows=5) == [{"most": 6}]
    rows = await shop.rows(TEN_THOUSAND + " LIMIT 10000", max_rows=10_000)
    assert isinstance(rows, list)
    assert len(rows) == 10_000
    outcome = await shop.query(TEN_THOUSAND, max_rows=9_999)
    assert isinstance(outcome, Failure)
    assert outcome.type == "TooManyRows"


# --- writing ---------------------------------------------------------------------------------------


async def test_an_actions_statements_are_one_transaction(shop: Shop) -> None:
    outcome = await shop.act(
        "UPDATE shop_order SET name = 'changed' WHERE id = 1", "INSERT INTO shop_order VALUES (2, 'again', 1)"
    )
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("DatabaseRefused", False)
    assert await shop.names() == ["ink", "paper"]
    done = await shop.act("UPDATE shop_order SET price = price + 1", "DELETE FROM shop_order WHERE id = :id")
    assert isinstance(done, Failure), "no value for :id"
    done = await shop.act(
        "UPDATE shop_order SET price = price + 1", "DELETE FROM shop_order WHERE id = :id", item={"id": 1}
    )
    assert done == Done({"affectedRows": 3})
    assert await shop.names() == ["paper"]


async def test_the_calls_key_the_institute_and_the_time_are_there_to_be_used(shop: Shop) -> None:
    rows = await shop.rows(
        "SELECT :_key AS k, :_instituteId AS i, CASE WHEN :_now IS NULL THEN 0 ELSE 1 END AS n"
    )
    assert rows == [{"k": "e1:n1:1:k", "i": "north", "n": 1}]


# --- sources ---------------------------------------------------------------------------------------


async def test_a_source_that_cannot_be_reached_may_be_tried_again(shop: Shop) -> None:
    url = "postgresql://ada:hunter2@127.0.0.1:1/x"
    if shop.database.dialect_name == "sqlite":
        url = "sqlite:///there.db"
    elif shop.database.dialect_name == "mariadb":
        url = "mariadb://ada:hunter2@127.0.0.1:1/x"
    draft = SourceDraft("shop", "", url, may_use_files=True)
    assert await shop.sources.replace(draft, None, AUDIT)
    outcome = await shop.query("SELECT 1 AS one")
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("SourceUnavailable", True)
    assert "hunter2" not in outcome.message
    assert list(shop.folder.iterdir()) == [], "a file that is not there is not made"


async def test_a_source_whose_password_no_key_opens_says_so(shop: Shop) -> None:
    """As when the key was changed, and the old one taken away too early."""
    await shop.sources.replace(SourceDraft("shop", "", "mariadb://ada:hunter2@127.0.0.1:1/x"), None, AUDIT)
    another = SourceRepository(shop.database, shop.clock, Vault.of("B" * 42 + "A="), shop.folder)
    outcome = await SqlRunner(another, shop.clock).write(Target("", "shop", 1), [])
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("UnreadablePassword", False)
    assert "not in MUSTER_SECRET_KEY" in outcome.message


async def test_a_source_that_changed_is_opened_anew(shop: Shop) -> None:
    assert await shop.rows("SELECT 1 AS one") == [{"one": 1}]
    broken = SourceDraft("shop", "", "postgresql://ada@127.0.0.1:1/x")
    await shop.sources.replace(broken, None, AUDIT)
    shop.clock.forward(seconds=3)
    assert isinstance(await shop.query("SELECT 1 AS one"), Failure)
    await shop.sources.replace(
        SourceDraft("shop", "", shop.url, password="", may_use_files=True), None, AUDIT
    )
    shop.clock.forward(seconds=3)
    assert await shop.rows("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize(
    "sql",
    ["ATTACH DATABASE 'other.db' AS other", "PRAGMA query_only = OFF", "COMMIT", "BEGIN", "DETACH main"],
)
async def test_sqlite_runs_nothing_that_reaches_another_file_or_loosens_its_bounds(
    sql: str, shop: Shop
) -> None:
    if shop.database.dialect_name == "sqlite":
        for outcome in (await shop.act(sql), await shop.query(sql)):
            assert isinstance(outcome, Failure)
            assert outcome.type == "DatabaseRefused"
            assert "not authorized" in outcome.message
