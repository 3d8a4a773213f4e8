"""`on` and `forEach`, unfolded into items."""

from datetime import UTC, datetime

from muster.engine.items import Item, compile_body, unfold
from muster.expr import Scope, compile_template
from muster.model.json import Json, JsonObject

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def items(config: JsonObject, key: str | None = None, **context: Json) -> list[Item]:
    item_key = None if key is None else compile_template(key)
    return list(unfold(compile_body(config), Scope(context, NOW), item_key))


def params(config: JsonObject, **context: Json) -> list[JsonObject | None]:
    return [item.params for item in items(config, **context)]


def test_without_a_list_the_body_runs_once() -> None:
    assert params({"to": "#{mail}"}, mail="a@b.c") == [{"to": "a@b.c"}]


def test_each_element_gets_the_parameters_around_and_in_the_loop() -> None:
    config: JsonObject = {
        "from": "me",
        "on": "#{users}",
        "forEach": {"eval": "#{item}", "subject": "Hi #{item.name} (#{index})"},
    }
    users: Json = [{"name": "Ada"}, {"name": "Bob"}]
    assert params(config, users=users) == [
        {"from": "me", "subject": "Hi Ada (0)"},
        {"from": "me", "subject": "Hi Bob (1)"},
    ]


def test_a_list_without_for_each_still_goes_item_by_item() -> None:
    assert params({"on": "#{ids}", "id": "#{item}"}, ids=[1, 2]) == [{"id": 1}, {"id": 2}]


def test_an_object_is_one_item_and_null_is_none() -> None:
    config: JsonObject = {"on": "#{x}", "v": "#{item.a}"}
    assert params(config, x={"a": 1}) == [{"v": 1}]
    assert params(config, x=None) == []


def test_eval_says_what_the_item_becomes() -> None:
    config: JsonObject = {"on": "#{xs}", "forEach": {"eval": "#{item * 10}", "v": "#{item}"}}
    assert params(config, xs=[1, 2]) == [{"v": 10}, {"v": 20}]


def test_a_switch_chooses_by_text_and_passes_over_what_fits_nothing() -> None:
    config: JsonObject = {
        "on": "#{subs}",
        "forEach": {
            "operation": "SWITCH",
            "on": "#{item.days}",
            "cases": {"1": {"subject": "urgent"}, "7": {"subject": "soon #{item.name}"}},
        },
    }
    subs: Json = [{"days": 1}, {"days": 7, "name": "B"}, {"days": 9}]
    assert params(config, subs=subs) == [{"subject": "urgent"}, {"subject": "soon B"}, None]


def test_a_switch_falls_to_its_default() -> None:
    config: JsonObject = {
        "on": "#{xs}",
        "forEach": {"operation": "SWITCH", "on": "#{item}", "cases": {}, "default": {"v": "other"}},
    }
    assert params(config, xs=["a"]) == [{"v": "other"}]


def test_loops_nest_and_their_keys_tell_items_apart() -> None:
    config: JsonObject = {
        "on": "#{orders}",
        "forEach": {"on": "#{item.lines}", "forEach": {"sku": "#{item}"}},
    }
    orders: Json = [{"lines": ["a", "b"]}, {"lines": ["c"]}]
    found = items(config, orders=orders)
    assert [item.key for item in found] == ["0/0", "0/1", "1/0"]
    assert [item.params for item in found] == [{"sku": "a"}, {"sku": "b"}, {"sku": "c"}]


def test_an_item_is_keyed_by_its_template() -> None:
    users: Json = [{"id": "u7"}, {"id": "u9"}]
    config: JsonObject = {"on": "#{users}"}
    assert [item.key for item in items(config, "#{item.id}", users=users)] == ["u7", "u9"]


def test_items_are_made_one_at_a_time() -> None:
    config: JsonObject = {"on": "#{xs}", "v": "#{10 / item}"}
    unfolding = unfold(compile_body(config), Scope({"xs": [5, 0]}, NOW))
    assert next(unfolding).params == {"v": 2}, "the second, which cannot be computed, is not touched yet"


def test_each_item_has_a_uuid_of_its_own_and_the_same_one_again() -> None:
    config: JsonObject = {"on": "#{xs}", "id": "#{uuid()}"}
    once, again = params(config, xs=[1, 2]), params(config, xs=[1, 2])
    assert once == again
    assert once[0] != once[1]
