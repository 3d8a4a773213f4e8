"""What holds for all values, not only for the ones somebody thought of."""

import json
import math
from datetime import UTC, datetime
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from muster.app.cli.jsonl import answer_line
from muster.expr import ExpressionError, Scope, compile_expression

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
WHOLE = st.integers(-(10**40), 10**40)


def run(text: str, **context: Any) -> Any:
    return compile_expression(text).evaluate(Scope(context, NOW))


@given(WHOLE, WHOLE)
def test_whole_numbers_reckon_exactly(a: int, b: int) -> None:
    assert run("{a + b, a - b, a * b, -a, a == b, a < b}", a=a, b=b) == [
        a + b,
        a - b,
        a * b,
        -a,
        a == b,
        a < b,
    ]


@given(WHOLE, WHOLE.filter(bool))
def test_a_quotient_and_its_remainder_make_the_number_again(a: int, b: int) -> None:
    quotient, rest = run("{a / b, a % b}", a=a, b=b)
    assert quotient * b + rest == a
    assert abs(rest) < abs(b)
    assert rest == 0 or (rest < 0) == (a < 0)


@given(st.integers(-50, 50), st.integers(0, 50))
def test_a_power_is_exact(a: int, b: int) -> None:
    assert run("a ^ b", a=a, b=b) == a**b


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-1000, 1000))
def test_a_fraction_makes_fractions(a: float, b: int) -> None:
    assume(math.isfinite(a * b))
    assert run("a * b", a=a, b=b) == a * b
    assert type(run("a * b", a=a, b=b)) is float


@given(st.text())
def test_a_text_literal_is_the_text(text: str) -> None:
    assert run("'" + text.replace("'", "''") + "'") == text
    assert run('"' + text.replace('"', '""') + '"') == text


@given(st.lists(st.integers()), st.integers())
def test_a_selection_and_its_opposite_are_the_whole(items: list[int], limit: int) -> None:
    chosen, rest = run("{l.?[#this > #m], l.?[not (#this > #m)]}", l=items, m=limit)
    assert sorted(chosen + rest) == sorted(items)


@given(st.lists(st.text()), st.text())
def test_joined_text_is_as_long_as_its_parts(items: list[str], separator: str) -> None:
    assert run("join(l, s)", l=items, s=separator) == separator.join(items)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_json_and_parse_json_are_opposites(value: Any) -> None:
    assert run("parseJson(json(v))", v=value) == value


@given(JSON, JSON)
def test_equality_is_the_same_from_both_sides(left: Any, right: Any) -> None:
    assert run("a == b", a=left, b=right) == run("b == a", a=left, b=right)
    assert run("a == a and not (a != a)", a=left)


@given(st.text())
def test_any_line_gets_an_answer(line: str) -> None:
    answer = answer_line(json.dumps({"expr": line, "context": {"a": 1}}), NOW)
    assert ("value" in answer) != ("error" in answer)
    assert answer_line(line, NOW)


@given(st.text(alphabet=st.sampled_from("ab12.,'\"()[]{}#?:!+-*/%^<>=& \t|$@")))
def test_any_text_is_an_expression_or_an_expression_error(text: str) -> None:
    try:
        run(text, a={"b": [1, 2]}, b="x")
    except ExpressionError as error:
        assert error.column is None or 1 <= error.column <= len(text) + 1  # noqa: PT017  # both ways are right
