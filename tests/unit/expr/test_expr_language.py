"""What expressions mean."""

from collections import ChainMap
from datetime import UTC, datetime
from typing import Any

import pytest

from muster.app.cli.jsonl import answer_line
from muster.expr import ExpressionError, Scope, compile_condition, compile_expression
from muster.expr.errors import ExpressionSyntaxError

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
CONTEXT: dict[str, Any] = {
    "userCount": 120,
    "item": {"name": "Ada", "remainingDays": 5, "tags": ["a", "b"]},
    "users": [{"id": 1, "n": "a", "active": True}, {"id": 2, "n": "b", "active": False}],
    "empty": "",
    "nothing": None,
    "list": [1, 2, 3],
    "totals": {"jan": 4, "feb": 0},
    "key": "name",
    "_trigger": {"action": "go"},
}

NULL_ERROR = "`a.b` is null, so `a.b.c` has no value (use `?.` to pass over null) (column 5)"


def run(text: str, context: Any = None, identity: str = "") -> Any:
    return compile_expression(text).evaluate(Scope(CONTEXT if context is None else context, NOW, identity))


def failure(text: str, context: Any = None) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        run(text, context)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ('"say ""hi"""', 'say "hi"'),
        ("12", 12),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("0xFF", 255),
        ("12L", 12),
        ("TRUE", True),
        ("null", None),
        ("item.name", "Ada"),
        ("item?.name", "Ada"),
        ("nothing?.name", None),
        ("list[0]", 1),
        ("item['name']", "Ada"),
        ("item[name]", "Ada"),
        ("item[#key]", "Ada"),
        ("nothing?.[0]", None),
        ("#userCount", 120),
        ("#root.userCount", 120),
        ("#this.userCount", 120),
        ("#unknown", None),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 / 2.0", 3.5),
        ("2 ^ 10", 1024),
        ("-2 ^ 2", 4),
        ("1 + 2 + 'x'", "3x"),
        ("'x' + null", "xnull"),
        ("'x' + 1e10", "x1.0E10"),
        ("'x' + list", "x1,2,3"),
        ("9999999999 * 9999999999", 99999999980000000001),
        ("1 == 1.0", True),
        ("'1' == 1", False),
        ("1 ne 2 AND 3 GE 3", True),
        ("not true or !false", True),
        ("null < 1", True),
        ("userCount between {100, 200}", True),
        ("item.name matches '[A-Z]da'", True),
        ("item.name matches 'A'", False),
        ("userCount > 100 ? 'many' : 'few'", "many"),
        ("false ? 1 : false ? 2 : 3", 3),
        ("empty ?: nothing ?: 'last'", "last"),
        ("0 ?: 5", 0),
        ("{1, {2}}", [1, [2]]),
        ("{a: 1, 'b c': {:}}", {"a": 1, "b c": {}}),
        ("users.?[active]", [{"id": 1, "n": "a", "active": True}]),
        ("users.^[id > 0].n", "a"),
        ("users.$[id > 0].n", "b"),
        ("users.^[id > 9]", None),
        ("users.![n + #key]", ["aname", "bname"]),
        ("list.![#this * 2]", [2, 4, 6]),
        ("totals.?[value > 0]", {"jan": 4}),
        ("totals.![key + value]", ["jan4", "feb0"]),
        ("users.![n].contains('a')", True),
        ("list.![#root.list.?[#this > 2]]", [[3], [3], [3]]),
        ("_trigger.action", "go"),
        ("list.size() > 2 && item.tags.contains('b')", True),
    ],
)
def test_an_expression_has_this_value(text: str, value: Any) -> None:
    result = run(text)
    assert result == value
    assert type(result) is type(value)


def test_a_bare_name_that_is_not_there_is_an_error_that_says_which_was_meant() -> None:
    error = failure("1 + userCont")
    assert error.code == "EXPRESSION_UNKNOWN_NAME"
    assert error.column == 5
    assert "`userCont`" in error.message
    assert "`userCount`" in error.message


def test_a_name_in_a_projection_is_the_elements_and_the_error_shows_the_way_to_the_contexts() -> None:
    error = failure("users.![userCount]")
    assert error.message == "the element has no `userCount` (write `#userCount` for the context's variable)"


def test_a_missing_key_is_null() -> None:
    assert run("item.missing") is None
    assert run("item['missing']") is None


def test_a_property_of_null_is_an_error_that_names_it() -> None:
    error = failure("item.address.city")
    assert error.code == "EXPRESSION_NULL"
    assert "`item.address` is null" in error.message
    assert "`?.`" in error.message


def test_an_index_that_is_out_of_range_is_an_error_that_counts() -> None:
    assert "`list` has 3 elements, and none at that place" in failure("list[3]").message
    assert "none at that place" in failure("list[-1]").message


def test_an_index_is_read_from_the_root_even_within_a_projection() -> None:
    assert run("users.![#list[zero]]", {**CONTEXT, "zero": 0}) == [1, 1]


def test_an_argument_is_read_from_the_element_even_within_an_index() -> None:
    assert run("users.![#root.list[#root.letters.indexOf(n)]]", {**CONTEXT, "letters": "ab"}) == [1, 2]


def test_a_root_of_several_maps_is_read_as_one() -> None:
    layered = ChainMap({"item": 1}, {"count": 2})
    assert run("item + count", layered) == 3
    assert run("#root.count", layered) == 2
    assert run("size()", layered) == 2


def test_names_are_the_variables_that_are_read() -> None:
    text = "a.b + #c + users.![d + #e] + #root.f + x[g] + y[1 + h] + default(i, 0)"
    names = compile_expression(text).names
    assert names == {"a", "c", "users", "e", "f", "x", "y", "h", "i"}


def test_an_error_tells_the_column_of_the_operator_that_failed() -> None:
    assert failure("1 + 2 * list").column == 7


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("1 +", 4, "ends too early"),
        ("(1", 3, "ends too early"),
        ("a b", 3, "`b` is unexpected"),
        ("1 < 2 < 3", 7, "`<` is unexpected"),
        ("'open", 1, "never closed"),
        ("a..b", 3, "expected after the dot"),
        ("a.foo()", 3, "no method `foo()`"),
        ("foo()", 1, "no function `foo()`"),
        ("a.substring()", 3, "takes 1 to 2 arguments, and 0 are given"),
        ("now(1, 2)", 1, "takes 0 to 1 arguments"),
        ("0x", 1, "is not a number"),
        ("a \u200b", 3, "invisible character U+200B"),
        ("a; b", 2, "`;` has no meaning"),
        ("", 1, "ends too early"),
        ("{1,}", 4, "`}` is unexpected"),
    ],
)
def test_a_syntax_error_names_its_column(text: str, column: int, said: str) -> None:
    with pytest.raises(ExpressionSyntaxError) as caught:
        compile_expression(text)
    assert (caught.value.column, said in caught.value.message) == (column, True), caught.value.message


def test_compiling_the_same_text_twice_gives_the_same_expression() -> None:
    assert compile_expression("list[1] + 41") is compile_expression("list[1] + 41")
    assert compile_condition("#{list[1] > 41}") is compile_condition("#{list[1] > 41}")


def test_uuid_is_the_same_again_and_different_at_every_place_turn_and_identity() -> None:
    once = run("{uuid(), uuid(), list.![uuid()]}", identity="run/node/1")
    assert once == run("{uuid(), uuid(), list.![uuid()]}", identity="run/node/1")
    ids = {once[0], once[1], *once[2]}
    assert len(ids) == 5
    assert run("uuid()", identity="run/node/1") != run("uuid()", identity="run/node/2")


def test_now_is_the_given_time() -> None:
    assert run("now()") == "2026-11-15T09:30:00Z"
    assert run("today('Asia/Tokyo')") == "2026-11-15"


def test_a_condition_may_be_delimited_or_bare() -> None:
    for text in ("#{userCount > 100}", " @{userCount > 100} ", "${userCount > 100}", "userCount > 100"):
        assert compile_condition(text).evaluate(Scope(CONTEXT, NOW)) is True


def test_a_condition_is_one_expression() -> None:
    with pytest.raises(ExpressionSyntaxError) as caught:
        compile_condition("#{userCount} > 100")
    assert caught.value.column == 13


def test_a_condition_keeps_delimiters_in_its_texts() -> None:
    assert compile_condition("'#{x}' == '#{x}'").evaluate(Scope({}, NOW)) is True
    assert compile_condition("#{'}' + '#{x}'}").evaluate(Scope({}, NOW)) == "}#{x}"


def test_a_condition_takes_the_words_for_true_and_false_and_no_others() -> None:
    assert run("'yes' ? 1 : 2") == 1
    assert run("'Off' ? 1 : 2") == 2
    assert "true or false was expected" in failure("1 ? 1 : 2").message
    assert "this is null" in failure("nothing and true").message


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('{"expr": "a + 1", "context": {"a": 2}}', {"value": 3}),
        ('{"expr": "n: #{a}", "context": {"a": 2}}', {"value": "n: 2"}),
        ('{"expr": "#{a}", "context": {"a": [2]}}', {"value": [2]}),
        ('{"expr": "\'#{a}\'"}', {"value": "#{a}"}),
        ('{"expr": "a.b.c", "context": {"a": {}}}', {"error": NULL_ERROR}),
        ('{"expr": "1 +"}', {"error": "the expression ends too early (column 4)"}),
        ("nonsense", {"error": "the line cannot be read: This is not JSON: expecting value."}),
        ('{"expr": 5}', {"error": 'the line needs an "expr" that is a text'}),
        ('{"expr": "1", "context": []}', {"error": 'the "context" must be an object'}),
    ],
)
def test_a_line_of_json_is_answered(line: str, answer: Any) -> None:
    assert answer_line(line, NOW) == answer
