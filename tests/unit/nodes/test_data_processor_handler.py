"""DATA_PROCESSOR: a list made of a list."""

import pytest

from muster.engine.handlers import Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.nodes.data_processor import DataProcessor
from node_calls import call_with, done

SWITCH: JsonObject = {
    "on": "#{item.status}",
    "cases": {"ACTIVE": {"action": "send_reminder"}, "EXPIRED": {"action": "send_renewal"}},
    "default": {"action": "send_general"},
}
USERS: Json = [{"name": "Ada", "status": "ACTIVE"}, {"name": "Bob", "status": "EXPIRED"}, {"status": "NEW"}]
LOOP: JsonObject = {"eval": "#{item}", "operation": "ITERATOR"}


def run(kind: str, config: JsonObject, output: str | None = None, **context: Json) -> Done | Failure:
    named: JsonObject = {} if output is None else {"output": output}
    return DataProcessor()({"dataProcessorType": kind, "config": config, **named}, call_with(**context))


def test_an_iterator_gives_what_each_item_becomes() -> None:
    assert done(run("ITERATOR", {"on": "#{userList}", "forEach": LOOP}, userList=USERS)).output == USERS
    names = done(run("ITERATOR", {"on": "#{u}", "forEach": {"eval": "#{item.status}"}}, u=USERS))
    assert names.output == ["ACTIVE", "EXPIRED", "NEW"]


def test_what_the_loop_says_is_the_result_of_each_item() -> None:
    config: JsonObject = {"on": "#{u}", "forEach": {"greeting": "Hi #{item.name}", "place": "#{index}"}}
    assert done(run("ITERATOR", config, u=[{"name": "Ada"}])).output == [{"greeting": "Hi Ada", "place": 0}]


def test_a_switch_over_items_gives_the_case_of_each() -> None:
    outcome = done(run("SWITCH", {**SWITCH, "items": "#{users}"}, users=USERS))
    assert outcome.output == [
        {"action": "send_reminder"},
        {"action": "send_renewal"},
        {"action": "send_general"},
    ]


def test_a_switch_within_a_loop_does_the_same() -> None:
    config: JsonObject = {"on": "#{users}", "forEach": {"operation": "SWITCH", **SWITCH}}
    assert done(run("ITERATOR", config, users=USERS)).output == [
        {"action": "send_reminder"},
        {"action": "send_renewal"},
        {"action": "send_general"},
    ]


@pytest.mark.parametrize(
    "context",
    [{"item": {"status": "ACTIVE"}}, {"status": "ACTIVE"}, {"item": {"status": "ACTIVE"}, "status": 1}],
)
def test_a_switch_without_a_list_runs_once_on_the_contexts_item_or_on_the_context(
    context: JsonObject,
) -> None:
    assert done(run("SWITCH", SWITCH, **context)).output == [{"action": "send_reminder"}]


def test_an_item_that_no_case_fits_is_left_out_and_counted() -> None:
    config: JsonObject = {"on": "#{item.status}", "cases": {"ACTIVE": {"a": 1}}, "items": "#{users}"}
    outcome = done(run("SWITCH", config, users=USERS))
    assert outcome.output == [{"a": 1}]
    assert outcome.warnings == ("2 of 3 items fit no case and were passed over",)
    alone = done(run("SWITCH", {"on": "#{item.x}", "cases": {"1": {}}}, x=2))
    assert (alone.output, len(alone.warnings)) == ([], 1)


def test_cases_compare_as_text() -> None:
    cases: JsonObject = {"1": {"is": "one"}, "true": {"is": "yes"}, "2.5": {"is": "half"}}
    config: JsonObject = {"on": "#{item}", "cases": cases, "items": [1, 1.0, "1", True, 2.5]}
    said = [{"is": "one"}] * 3 + [{"is": "yes"}, {"is": "half"}]
    assert done(run("SWITCH", config)).output == said


def test_a_case_may_be_any_value_and_holds_expressions() -> None:
    cases: JsonObject = {"A": "#{item.n * 2}", "B": ["#{item.n}"], "C": {"deep": {"n": "#{item.n}"}}}
    items: Json = [{"k": "A", "n": 1}, {"k": "B", "n": 2}, {"k": "C", "n": 3}, {"k": "D"}]
    config: JsonObject = {"on": "#{item.k}", "cases": cases, "default": "none", "items": items}
    assert done(run("SWITCH", config)).output == [2, [2], {"deep": {"n": 3}}, "none"]


def test_a_case_that_says_nothing_lets_the_item_pass() -> None:
    config: JsonObject = {"on": "#{item.status}", "cases": {"ACTIVE": {}}, "items": "#{users}"}
    assert done(run("SWITCH", config, users=USERS)).output == [{"name": "Ada", "status": "ACTIVE"}]


def test_loops_within_loops_give_one_flat_list() -> None:
    config: JsonObject = {"on": "#{rows}", "forEach": {"eval": "#{item}"}}
    rows: Json = 1
    for _ in range(4):
        config = {"on": "#{rows}", "forEach": {"on": "#{item}", "forEach": config["forEach"]}}
        rows = [rows, rows]
    assert done(run("ITERATOR", config, rows=[rows])).output == [1] * 16


def test_the_list_is_kept_under_its_name_if_it_has_one() -> None:
    config: JsonObject = {"on": "#{users}", "forEach": LOOP}
    assert done(run("ITERATOR", config, "copy", users=[1])).changes == {"copy": [1]}
    assert done(run("ITERATOR", config, users=[1])).changes == {}


def test_null_is_no_item_and_an_object_is_one() -> None:
    config: JsonObject = {"on": "#{users}", "forEach": LOOP}
    assert done(run("ITERATOR", config, users=None)).output == []
    assert done(run("ITERATOR", config, users={"a": 1})).output == [{"a": 1}]


def test_an_expression_that_fails_says_how_far_it_came() -> None:
    config: JsonObject = {"on": "#{rows}", "forEach": {"n": "#{item.a.b}"}}
    outcome = run("ITERATOR", config, rows=[{"a": {"b": 1}}, {}])
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("ExpressionError", False)
    assert outcome.message.startswith("after 1 items: ")
