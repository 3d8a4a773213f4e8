"""Templates: texts with expressions in them, at every depth of a value."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.expr import ExpressionError, Scope, compile_template
from muster.expr.errors import ExpressionSyntaxError

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
CONTEXT: dict[str, Any] = {
    "name": "Ada",
    "n": 3,
    "half": 2.5,
    "whole": 4.0,
    "yes": True,
    "none": None,
    "list": [1, "a"],
}


def resolve(value: Any, identity: str = "") -> Any:
    return compile_template(value).resolve(Scope(CONTEXT, NOW, identity))


def test_a_text_that_is_one_expression_keeps_the_values_type() -> None:
    assert resolve("#{list}") == [1, "a"]
    assert resolve("@{n}") == 3
    assert resolve("${none}") is None


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Hello #{name}!", "Hello Ada!"),
        ("#{name}@{n}${n}", "Ada33"),
        (" #{n}", " 3"),
        ("[#{none}]", "[]"),
        ("[#{yes}]", "[true]"),
        ("[#{half}|#{whole}|#{1e20}]", "[2.5|4|100000000000000000000]"),
        ("[#{list}]", '[[1,"a"]]'),
        ("[#{ {a: null} }]", '[{"a":null}]'),
        ("at #{now()}", "at 2026-11-15T09:30:00Z"),
        (r"\#{name} \@{name} \${name}", "#{name} @{name} ${name}"),
        ("{name} # {n} $5 @home", "{name} # {n} $5 @home"),
        ("#{'}'}#{\"{\"}", "}{"),
        ("#{ {1, {2}}.size() }", 2),
    ],
)
def test_a_template_makes_this(text: str, made: Any) -> None:
    assert resolve(text) == made


def test_templates_are_resolved_at_every_depth_and_keys_are_left_alone() -> None:
    value = {"#{name}": ["#{n}", {"deep": "x#{n}", "number": 5, "none": None}]}
    assert resolve(value) == {"#{name}": [3, {"deep": "x3", "number": 5, "none": None}]}


def test_what_is_resolved_may_be_changed_by_its_owner() -> None:
    template = compile_template({"list": [1, 2], "name": "#{name}"})
    first = template.resolve(Scope(CONTEXT, NOW))
    assert isinstance(first, dict)
    first["list"] = "changed"
    assert template.resolve(Scope(CONTEXT, NOW)) == {"list": [1, 2], "name": "Ada"}


def test_a_template_knows_its_names_and_whether_it_is_constant() -> None:
    template = compile_template({"a": ["#{x.y}", "@{z}"]})
    assert (template.names, template.is_constant) == ({"x", "z"}, False)
    assert compile_template({"a": [r"\#{x}", 1]}).is_constant


@pytest.mark.parametrize(
    ("text", "column"),
    [("Hello #{name", 7), ("#{a b}", 5), ("ab #{1 +}", 9), ("#{#{x}}", 3), ("#{}", 3), ("x #{'open}", 5)],
)
def test_an_error_has_its_column_in_the_whole_text(text: str, column: int) -> None:
    with pytest.raises(ExpressionSyntaxError) as caught:
        compile_template(text)
    assert caught.value.column == column


def test_a_failing_expression_has_its_column_in_the_whole_text() -> None:
    with pytest.raises(ExpressionError) as caught:
        resolve("Dear #{name}, #{nope}")
    assert caught.value.column == 17


def test_the_same_template_at_two_places_makes_two_ids() -> None:
    made = resolve({"a": "#{uuid()}", "b": ["#{uuid()}", "#{uuid()}"]}, identity="run/node/1")
    assert len({made["a"], *made["b"]}) == 3
    assert made == resolve({"a": "#{uuid()}", "b": ["#{uuid()}", "#{uuid()}"]}, identity="run/node/1")


def test_a_template_that_grows_too_long_is_refused() -> None:
    with pytest.raises(ExpressionError, match="characters"):
        compile_template("#{x}" * 11).resolve(Scope({"x": "y" * 100_000}, NOW))


def test_plain_text_may_be_longer_than_an_expression() -> None:
    long = "x" * 200_000
    assert resolve(long) == long
    assert resolve(long + "#{n}") == long + "3"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_any_value_survives_a_template_of_one_expression(value: Any) -> None:
    assert compile_template("#{value}").resolve(Scope({"value": value}, NOW)) == value


@given(st.text(alphabet=st.sampled_from("ab#@${}\\ '\"x")))
def test_text_that_is_escaped_comes_out_as_it_was(text: str) -> None:
    escaped = text
    for delimiter in ("#{", "@{", "${"):
        escaped = escaped.replace(delimiter, "\\" + delimiter)
    assert compile_template(escaped).resolve(Scope({}, NOW)) == text


@given(JSON)
def test_a_value_without_delimiters_is_its_own_template(value: Any) -> None:
    if not any(delimiter in repr(value) for delimiter in ("#{", "@{", "${")):
        assert compile_template(value).resolve(Scope({}, NOW)) == value
