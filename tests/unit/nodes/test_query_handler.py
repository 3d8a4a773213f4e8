"""QUERY and ACTION: from a node's parameters to statements with bound values, and what comes of them."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import pytest
from sqlalchemy import text

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.expr import Scope
from muster.model.json import Json, JsonObject
from muster.model.registered import ActionDefinition, PrebuiltQuery
from muster.nodes.action import Action
from muster.nodes.data_ports import Bound, Kind, Statement, Target
from muster.nodes.query import Query
from muster.nodes.resolved import BadParameter
from muster.nodes.sql import default_result_key, parameters_of

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
ORDERS = "SELECT id FROM orders WHERE days > :days AND shop = :shop"
SCHEMA: JsonObject = {
    "properties": {"days": {"type": "integer", "default": 7}, "shop": {"type": ["string", "null"]}}
}
CLOSE = "UPDATE orders SET status = :status WHERE id = :id"


class House:
    """Something registered, and a database that writes down what it is asked."""

    def __init__(self, result: list[Json] | int | Failure | None = None) -> None:
        self.result = [] if result is None else result
        self.query_sql, self.action_sql = ORDERS, (CLOSE,)
        self.schema: JsonObject | None = SCHEMA
        self.asked: list[tuple[Target, tuple[Statement, ...]]] = []

    async def query(self, institute_id: str, key: str) -> PrebuiltQuery | None:
        if key != "getOrders":
            return None
        return PrebuiltQuery(key, "", "shop", self.query_sql, "orders", NOW, NOW, self.schema)

    async def action(self, institute_id: str, key: str) -> ActionDefinition | None:
        return None if key != "close" else ActionDefinition(key, "", "shop", self.action_sql, NOW, NOW)

    async def read(self, target: Target, statement: Statement, most: int) -> list[Json] | Failure:
        self.asked.append((target, (statement,)))
        assert not isinstance(self.result, int)
        return self.result

    async def write(self, target: Target, statements: Sequence[Statement]) -> int | Failure:
        self.asked.append((target, tuple(statements)))
        assert not isinstance(self.result, list)
        return self.result

    async def queried(self, params: Json = None, key: str = "getOrders") -> Done | Failure:
        return await Query(self, self)({"prebuiltKey": key, "params": params}, call())

    async def acted(self, item: Json = None, key: str = "close", **given: Json) -> Done | Failure:
        return await Action(self, self, {})({"actionType": key, **given}, call(item))

    def bound(self) -> dict[str, Bound]:
        ((_, (statement,)),) = self.asked
        return dict(statement.values)


def call(item: Json = None) -> Call:
    return Call("e1", "w1", "north", "n1", 1, 1, Scope({"item": item}, NOW), "k")


# --- QUERY -----------------------------------------------------------------------------------------


async def test_rows_are_the_output_and_a_name_in_the_context() -> None:
    house = House([{"id": 1}])
    outcome = await house.queried({"days": 1, "shop": "x"})
    assert outcome == Done({"orders": [{"id": 1}]}, {"orders": [{"id": 1}]})


async def test_defaults_fill_in_and_what_may_be_absent_is_null() -> None:
    house = House()
    await house.queried()
    assert house.bound() == {"days": Bound(Kind.WHOLE, 7), "shop": Bound(Kind.TEXT, None)}


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"day": 1}, "there is no parameter `day`: it has `days`, `shop`"),
        ({"days": "x"}, "`/days` breaks the rule `type`"),
        ({"shop": {"a": 1}}, "`/shop` breaks the rule `type`"),
        ({"_key": "mine"}, "there is no parameter `_key`"),
        ([1], "`params` is a list, where an object was expected"),
    ],
)
async def test_wrong_parameters_are_named_and_nothing_is_asked(params: Json, told: str) -> None:
    house = House()
    outcome = await house.queried(params)
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("BadParameter", False)
    assert outcome.message.startswith("query `getOrders`: ")
    assert told in outcome.message
    assert house.asked == []


async def test_without_a_schema_every_parameter_is_needed() -> None:
    house = House([])
    house.schema = None
    assert await house.queried({"days": 1}) == Failure(
        "BadParameter", "query `getOrders`: the parameter `shop` is missing"
    )


async def test_an_unknown_query_is_named() -> None:
    assert await House().queried(key="getNothing") == Failure(
        "UnknownQuery", "no query `getNothing` is registered"
    )


async def test_trouble_with_the_database_keeps_its_word_on_whether_to_try_again() -> None:
    house = House(Failure("SourceUnavailable", "`shop` cannot be used", retryable=True))
    assert await house.queried() == Failure(
        "SourceUnavailable", "query `getOrders`: `shop` cannot be used", retryable=True
    )


async def test_nobody_chooses_what_is_always_given() -> None:
    house = House()
    house.query_sql, house.schema = "SELECT :_key AS k", {}
    outcome = await house.queried({"_key": "mine"})
    assert outcome == Failure("BadParameter", "query `getOrders`: there is no parameter `_key`: it has none")


# --- ACTION ----------------------------------------------------------------------------------------


async def test_an_items_fields_are_its_parameters() -> None:
    house = House(1)
    outcome = await house.acted({"id": 7, "status": "CLOSED", "email": "ada@x.de", "more": {"a": 1}})
    assert outcome == Done({"affectedRows": 1})
    assert house.bound() == {"id": Bound(Kind.WHOLE, 7), "status": Bound(Kind.TEXT, "CLOSED")}


async def test_what_the_config_says_comes_before_the_item() -> None:
    house = House(1)
    await house.acted({"id": 7, "status": "OPEN"}, params={"status": "CLOSED"})
    assert house.bound()["status"] == Bound(Kind.TEXT, "CLOSED")


async def test_a_single_value_goes_by_the_name_item() -> None:
    house = House(1)
    house.action_sql = ("DELETE FROM orders WHERE id = :item",)
    await house.acted(7)
    assert house.bound() == {"item": Bound(Kind.WHOLE, 7)}


async def test_an_item_without_a_needed_field_fails_alone_and_names_it() -> None:
    assert await House(1).acted({"id": 7}) == Failure(
        "BadParameter", "action `close`: the parameter `status` is missing"
    )
    assert await House(1).acted({"id": 7}, key="open") == Failure(
        "UnknownAction", "no action `open` is registered"
    )


async def test_an_item_cannot_pass_for_what_is_always_given() -> None:
    house = House(1)
    house.action_sql = ("INSERT INTO done (k, i, t) VALUES (:_key, :_instituteId, :_now)",)
    await house.acted({"_key": "stolen", "_instituteId": "south", "_now": "never"})
    assert house.bound() == {
        "_key": Bound(Kind.TEXT, "e1:n1:1:k"),
        "_instituteId": Bound(Kind.TEXT, "north"),
        "_now": Bound(Kind.TIME, NOW),
    }


async def test_a_plug_ins_function_is_an_action_too() -> None:
    async def greet(params: JsonObject, given: Call) -> Json | Failure:
        if params["name"] == "nobody":
            raise BadParameter("`name` is nobody")
        return Failure("Away", "x", retryable=True) if params["name"] == "Bob" else f"Hi {params['name']}"

    action = Action(House(), House(), {"greet": greet})
    assert await action({"actionType": "greet"}, call({"name": "Ada"})) == Done("Hi Ada")
    given: JsonObject = {"actionType": "greet", "params": {"name": "Bob"}}
    assert await action(given, call({"name": "Ada"})) == Failure("Away", "x", retryable=True)
    outcome = await action({"actionType": "greet"}, call({"name": "nobody"}))
    assert outcome == Failure("BadParameter", "action `greet`: `name` is nobody")


# --- named parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "schema", "bound"),
    [
        (True, {}, Bound(Kind.FLAG, True)),
        (2**70, {}, Bound(Kind.WHOLE, 2**70)),
        (0.5, {}, Bound(Kind.NUMBER, 0.5)),
        ("2026-01-02", {"format": "date"}, Bound(Kind.DATE, date(2026, 1, 2))),
        (
            "2026-01-02T03:00:00+02:00",
            {"format": "date-time"},
            Bound(Kind.TIME, datetime(2026, 1, 2, 1, tzinfo=UTC)),
        ),
        (
            "2026-01-02T03:00:00",
            {"format": "date-time"},
            Bound(Kind.TIME, datetime(2026, 1, 2, 3, tzinfo=UTC)),
        ),
        (["a", "b"], {}, Bound(Kind.LIST, ["a", "b"])),
        ([1], {}, Bound(Kind.LIST, [1], Kind.WHOLE)),
        ([], {"items": {"type": "number"}}, Bound(Kind.LIST, [], Kind.NUMBER)),
        (None, {"type": ["null", "integer"]}, Bound(Kind.WHOLE, None)),
        (None, {"type": ["array", "null"]}, Bound(Kind.LIST, [])),
        (None, {"format": "date-time"}, Bound(Kind.TIME, None)),
    ],
)
async def test_a_value_is_bound_as_what_it_is(value: Json, schema: JsonObject, bound: Bound) -> None:
    house = House()
    house.query_sql, house.schema = "SELECT :x AS x", {"properties": {"x": schema}}
    outcome = await house.queried({"x": value})
    assert isinstance(outcome, Done), outcome
    assert house.bound() == {"x": bound}


@pytest.mark.parametrize(
    ("value", "schema", "told"),
    [
        ({"a": 1}, {}, "is an object"),
        ("nul\0", {}, "NUL"),
        ("yesterday", {"format": "date"}, "no date after ISO 8601"),
        ("noon", {"format": "date-time"}, "no date-time after ISO 8601"),
        ([1, "a"], {}, "different things"),
        ([[1]], {}, "different things"),
        ([{"a": 1}], {}, "is an object"),
    ],
)
async def test_a_value_that_no_database_takes_is_refused(value: Json, schema: JsonObject, told: str) -> None:
    house = House()
    house.query_sql, house.schema = "SELECT :x AS x", {"properties": {"x": schema}}
    outcome = await house.queried({"x": value})
    assert isinstance(outcome, Failure)
    assert told in outcome.message
    assert house.asked == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT :a, :b_2, x::text, '12:30', :ä",
        r"SELECT '\:not' || :a -- :comment",
        "SELECT a[1:2], :a::int, :a:b, ::a, :1",
        "SELECT ':a'",
        "INSERT INTO t VALUES (:a,:b)",
    ],
)
def test_parameters_are_found_where_the_statement_will_have_them(sql: str) -> None:
    assert parameters_of(sql) == set(text(sql).compile().params)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("getNewStudents", "newStudents"),
        ("getX", "x"),
        ("getaway", "getaway"),
        ("get", "get"),
        ("Orders", "orders"),
        ("get2", "2"),
    ],
)
def test_a_result_is_called_as_its_query_without_get(key: str, name: str) -> None:
    assert default_result_key(key) == name
