"""TRANSFORM: fields from fields, in items, in objects, in the context."""

from copy import deepcopy

import pytest

from muster.definitions.check import check
from muster.engine.handlers import Done
from muster.engine.state import Failure
from muster.expr import template
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue
from muster.nodes import builtin
from muster.nodes.transform import Transform
from node_calls import call_with, done

FULL_NAME: JsonObject = {"field": "fullName", "expression": "#{item.firstName + ' ' + item.lastName}"}
EXPIRING: JsonObject = {"field": "isExpiring", "expression": "#{item.remainingDays <= 7}"}
ADA: JsonObject = {"firstName": "Ada", "lastName": "Lovelace", "remainingDays": 3}
BOB: JsonObject = {"firstName": "Bob", "lastName": "Stone", "remainingDays": 30}


def run(config: JsonObject, **context: Json) -> Done | Failure:
    return Transform()(config, call_with(**context))


def fields(**expressions: Json) -> list[Json]:
    return [
        {"field": name.replace("__", "."), "expression": expression}
        for name, expression in expressions.items()
    ]


def test_without_a_list_the_fields_are_set_in_the_context_which_is_the_item() -> None:
    outcome = done(run({"transformations": [FULL_NAME, EXPIRING]}, **ADA))
    assert outcome.output == {"fullName": "Ada Lovelace", "isExpiring": True}
    assert outcome.changes == outcome.output


def test_each_item_of_a_list_is_copied_and_given_its_fields() -> None:
    users: Json = [ADA, BOB]
    before = deepcopy(users)
    outcome = done(run({"on": "#{users}", "transformations": [FULL_NAME, EXPIRING]}, users=users))
    assert outcome.output == [
        {**ADA, "fullName": "Ada Lovelace", "isExpiring": True},
        {**BOB, "fullName": "Bob Stone", "isExpiring": False},
    ]
    assert users == before


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"on": "#{users}", "output": "people"}, "people"),
        ({"on": "#{users}"}, "users"),
        ({"on": "#{ #users }"}, "users"),
        ({"on": "@{users}"}, "users"),
        ({"on": "#{users.?[true]}"}, None),
        ({"on": "#{workflow.context.users}"}, None),
        ({"on": "#{_nodes}"}, None),
        ({"on": "#{null}"}, None),
        ({"on": [{"a": 1}]}, None),
    ],
)
def test_the_result_is_kept_as_output_or_under_the_variable_that_it_was_made_of(
    config: JsonObject, name: str | None
) -> None:
    outcome = done(run({**config, "transformations": fields(n="#{index}")}, users=[{}, {}]))
    assert outcome.changes == ({name: outcome.output} if name else {})


def test_an_object_gives_an_object_and_null_gives_no_items() -> None:
    config: JsonObject = {"on": "#{user}", "transformations": [FULL_NAME]}
    assert done(run(config, user=ADA)).output == {**ADA, "fullName": "Ada Lovelace"}
    assert done(run(config, user=None)).output == []


def test_of_an_item_that_is_no_object_only_the_new_fields_are_kept() -> None:
    config: JsonObject = {"on": "#{ns}", "transformations": fields(n="#{item}", place="#{index}")}
    assert done(run(config, ns=[7, None, "x"])).output == [
        {"n": 7, "place": 0},
        {"n": None, "place": 1},
        {"n": "x", "place": 2},
    ]


def test_a_later_field_sees_the_earlier_ones() -> None:
    steps = fields(net="#{item.price * 2}", gross="#{item.net + 1}")
    assert done(run({"on": "#{rows}", "transformations": steps}, rows=[{"price": 5}])).output == [
        {"price": 5, "net": 10, "gross": 11}
    ]
    in_context = fields(net="#{price * 2}", gross="#{net + 1}", both="#{item.net + item.gross}")
    assert done(run({"transformations": in_context}, price=5)).changes == {"net": 10, "gross": 11, "both": 21}


def test_an_item_may_be_kept_within_itself_without_becoming_endless() -> None:
    config: JsonObject = {"on": "#{rows}", "transformations": fields(before="#{item}", n=2)}
    assert done(run(config, rows=[{"n": 1}])).output == [{"n": 2, "before": {"n": 1}}]


def test_a_path_sets_a_field_within_and_makes_the_way_to_it() -> None:
    person: Json = {"name": "Ada", "phones": [{"no": 1}, {"no": 2}]}
    steps = [*fields(address__city="Vienna"), {"field": "phones[1].no", "expression": 3}]
    context: JsonObject = {"address": {"zip": 1}, "phones": [{"no": 1}, {"no": 2}]}
    before = deepcopy(context)
    outcome = done(run({"transformations": steps}, **context))
    assert context == before, "copies are changed, never what is there"
    assert outcome.changes == {"address": {"zip": 1, "city": "Vienna"}, "phones": [{"no": 1}, {"no": 3}]}
    made = done(run({"on": "#{person}", "transformations": fields(a__b__c=1)}, person=person))
    assert made.output == {"name": "Ada", "phones": [{"no": 1}, {"no": 2}], "a": {"b": {"c": 1}}}


def test_what_stands_in_the_way_of_a_path_is_named() -> None:
    outcome = run({"on": "#{rows}", "transformations": fields(a__b=1)}, rows=[{}, {"a": "text"}])
    assert outcome == Failure("BadParameter", "item 1, `a.b`: `a` is no object, so `b` cannot be set in it")
    beyond: JsonObject = {"transformations": [{"field": "a[2]", "expression": 1}]}
    assert run(beyond, a=[1]) == Failure("BadParameter", "`a[2]`: there is no list with a place 2 in it")


def test_an_expression_that_fails_is_named_with_its_item_and_is_not_tried_again() -> None:
    config: JsonObject = {"on": "#{rows}", "transformations": fields(n="#{item.a.b}")}
    outcome = run(config, rows=[{"a": {"b": 1}}, {}])
    assert isinstance(outcome, Failure)
    assert (outcome.type, outcome.retryable) == ("ExpressionError", False)
    assert outcome.message.startswith("item 1, `n`: ")


def test_keep_and_remove_choose_among_old_and_new_fields() -> None:
    config: JsonObject = {"on": "#{users}", "transformations": [FULL_NAME]}
    kept = done(run({**config, "keep": ["fullName", "remainingDays", "nobody"]}, users=[ADA]))
    assert kept.output == [{"fullName": "Ada Lovelace", "remainingDays": 3}]
    removed = done(run({**config, "remove": ["firstName", "lastName"]}, users=[ADA]))
    assert removed.output == [{"fullName": "Ada Lovelace", "remainingDays": 3}]


def test_keep_and_remove_reach_into_objects() -> None:
    rows: Json = [{"a": {"b": 1, "c": 2}, "d": 3}]
    assert done(run({"on": "#{rows}", "keep": "a.b"}, rows=rows)).output == [{"a": {"b": 1}}]
    assert done(run({"on": "#{rows}", "remove": "a.b"}, rows=rows)).output == [{"a": {"c": 2}, "d": 3}]
    assert done(run({"on": "#{rows}", "remove": ["d.e", "x.y"]}, rows=rows)).output == rows
    places = run({"on": "#{rows}", "keep": "a[0]"}, rows=rows)
    assert places == Failure("BadParameter", "`keep` takes the names of fields, and no places in a list")


def test_what_is_removed_from_the_context_is_null_from_then_on() -> None:
    outcome = done(run({"remove": ["secret", "user.pin"]}, secret="x", user={"pin": 1, "id": 2}, other=1))
    assert outcome.changes == {"secret": None, "user": {"id": 2}}


def test_what_is_kept_in_the_context_leaves_what_everybody_counts_on() -> None:
    outcome = done(run({"keep": "a"}, a=1, b=2, workflowId="w1", instituteId="i", _trigger={}))
    assert outcome.changes == {"b": None}


def test_with_output_the_context_keeps_its_fields_and_the_result_is_an_object() -> None:
    computed = done(run({"transformations": fields(n="#{a + 1}"), "output": "o"}, a=1))
    assert computed.changes == {"o": {"n": 2}}
    picked = done(run({"keep": ["a", "n"], "transformations": fields(n=2), "output": "o"}, a=1, b=1))
    assert picked.changes == {"o": {"a": 1, "n": 2}}


def test_ids_differ_from_item_to_item_and_field_to_field_and_are_the_same_again() -> None:
    config: JsonObject = {"on": "#{rows}", "transformations": fields(a="#{uuid()}", b="#{uuid()}")}
    output = done(run(config, rows=[{}, {}])).output
    assert isinstance(output, list)
    ids = {value for row in output if isinstance(row, dict) for value in row.values()}
    assert len(ids) == 4
    assert done(run(config, rows=[{}, {}])).output == output


def test_a_config_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    config: JsonObject = {"transformations": fields(n="#{a}"), "keep": "n"}
    transform = Transform()
    transform(config, call_with(a=1))
    monkeypatch.setattr(template, "_compile", None)
    assert done(transform(config, call_with(a=2))).changes == {"n": 2, "a": None}


@pytest.mark.parametrize("field", ["a..b", ".a", "a[x]", "[0]"])
def test_a_field_that_is_no_path_is_found_before_anything_runs(field: str) -> None:
    config: JsonObject = {"transformations": [{"field": field, "expression": 1}]}
    found = check({"nodes": [{"type": "TRANSFORM", "config": config}]}, Catalogue(builtin()))
    assert [(each.code, each.pointer) for each in found.errors] == [
        ("INVALID_EXPRESSION", "/nodes/0/config/transformations/0/field")
    ]
