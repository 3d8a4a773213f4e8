"""Every function and method does what its own example shows, and is documented."""

import doctest
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from muster.expr import ExpressionError, Scope, compile_expression, parse_duration
from muster.expr.functions import FUNCTIONS
from muster.expr.methods import METHODS

PAGE = Path(__file__).parents[3] / "docs" / "expressions.md"
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def run(text: str, **context: Any) -> Any:
    return compile_expression(text).evaluate(Scope(context, NOW))


@pytest.mark.parametrize(("name", "call"), [*FUNCTIONS.items(), *METHODS.items()])
def test_the_example_is_true(name: str, call: Callable[..., Any]) -> None:
    examples = doctest.DocTestFinder(recurse=False).find(call, name, globs={"run": run})
    assert examples
    assert examples[0].examples, f"{name} shows no example"
    failed, tried = doctest.DocTestRunner().run(examples[0], clear_globs=False)
    assert (failed, tried > 0) == (0, True)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *METHODS}))
def test_it_is_documented(name: str) -> None:
    assert re.search(rf"`{name}\(", PAGE.read_text()), f"docs/expressions.md does not list {name}()"


ODD_VALUES: list[Any] = [None, True, -1, 1e300, "", "x", [], [1, "a", None], {}, {"a": {}}, 10**400]


def said(text: str, **context: Any) -> str:
    """The error's message, or a word for a value: anything else that is raised fails the test."""
    try:
        run(text, **context)
    except ExpressionError as error:
        return error.message
    return "a value"


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"now", "today", "uuid"}))
@pytest.mark.parametrize("value", ODD_VALUES)
def test_a_function_gives_a_value_or_an_error_whatever_it_is_given(name: str, value: Any) -> None:
    for many in range(4):
        assert said(f"{name}({', '.join(['#v'] * many)})", v=value)


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("value", ODD_VALUES)
def test_a_method_gives_a_value_or_an_error_whatever_it_is_called_on(name: str, value: Any) -> None:
    for other in (None, 1, "x", [1], {"a": 1}, -5.5):
        for many in range(3):
            assert said(f"#v.{name}({', '.join(['#o'] * many)})", v=value, o=other)


SECRET = "hunter2-hunter2"
OPERATORS = ["+", "-", "*", "/", "%", "^", "<", "==", "and", "or", "?:", "matches", "between"]


@pytest.mark.parametrize(
    "text",
    [
        *(f"{name}({', '.join(['#k'] * many)})" for name in FUNCTIONS for many in (1, 2, 3)),
        *(f"#k.{name}({', '.join(['#k'] * many)})" for name in METHODS for many in (0, 1, 2)),
        *(
            f"{one} {operator} {two}"
            for operator in OPERATORS
            for one, two in (("#k", "{1}"), ("1", "#k"), ("#k", "#k"))
        ),
        *(
            "-#k",
            "!#k",
            "#k.x",
            "#k[#k]",
            "{1}[#k]",
            "#k.![1]",
            "{1}.?[#k]",
            "#k ? 1 : 2",
            "{a: #k}[#k].x",
            "#k[99]",
        ),
        *("'a' matches '(' + #k", "'a'.replaceAll('a', '$' + #k)", "format(now(), #k)", "{(#root): 1}"),
    ],
)
def test_no_message_shows_a_value_for_it_may_be_a_secret(text: str) -> None:
    assert "hunter" not in said(text, k=SECRET)
    assert "8675309" not in said(text, k=8675309)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("date('2026-11-15T09:30')", "2026-11-15T09:30:00Z"),
        ("date('2026-11-15T09:30:00+02:00')", "2026-11-15T09:30:00+02:00"),
        ("date('2026-11-15T09:30:00.250Z')", "2026-11-15T09:30:00.250Z"),
        ("duration('90s')", "PT1M30S"),
        ("duration('P1DT2H')", "P1DT2H"),
        ("duration('-PT5M')", "-PT5M"),
        ("duration(0.5)", "PT0.5S"),
        ("duration('0s')", "PT0S"),
        ("plusMonths('2026-11-30T10:00:00Z', 3)", "2027-02-28T10:00:00Z"),
        ("daysBetween('2026-11-15T12:00:00Z', '2026-11-14')", -1),
        ("format('2026-11-15T09:05:07.120Z', 'yyyy-MM-dd''T''HH:mm:ss.SSSXXX')", "2026-11-15T09:05:07.120Z"),
        ("format('2026-11-15', \"EEEE, MMMM d\")", "Sunday, November 15"),
        ("format('2026-11-15T00:30:00Z', 'h:mm a')", "12:30 AM"),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(7)", 7),
        ("sum({1, 2.5, null})", 3.5),
        ("sum({})", 0),
        ("sum(null)", 0),
        ("max({})", None),
        ("max({'a', 'c', 'b'})", "c"),
        ("min(3, 2.5)", 2.5),
        ("distinct({1, 1.0, true, '1', {1}, {1}})", [1, 1.0, True, "1", [1]]),
        ("sortBy({{n: 2}, {n: null}, {n: 1}}, 'n', 'desc').![n]", [2, 1, None]),
        ("groupBy({{k: 1}, {k: null}}, 'k').keySet()", ["1", "null"]),
        ("first({})", None),
        ("json('a\"b')", '"a\\"b"'),
        ("parseJson('{\"a\": [1.5, null]}').a[0]", 1.5),
        ("hash({b: 1, a: 2}) == hash({a: 2, b: 1})", True),
        ("number('1e2')", 100.0),
        ("default(null, null)", None),
    ],
)
def test_a_function_has_this_value(text: str, value: Any) -> None:
    result = run(text)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "date('tomorrow')",
        "duration('5 parsecs')",
        "duration('P')",
        "duration('P1Y')",
        "format('2026-11-15', 'yyyy bb')",
        "format('2026-11-15', \"'open\")",
        "today('Mars/Olympus')",
        "today('../../etc/passwd')",
        "plusYears('2026-11-15', 99999)",
        "plusDays('2026-11-15', 10 ^ 18)",
        "parseJson('{')",
        "parseJson('NaN')",
        "number('ten')",
        "number('inf')",
        "sum({'1'})",
        "sortBy({{n: 1}, {n: 'a'}}, 'n')",
    ],
)
def test_a_bad_argument_is_an_error_for_the_author(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        run(text)
    assert caught.value.column is not None


def test_durations_are_read_for_others_too() -> None:
    assert parse_duration("1h30m").total_seconds() == 5400
    with pytest.raises(ExpressionError, match="not a duration"):
        parse_duration("soon")


@pytest.mark.parametrize("text", ["1e999", "[-1e999]", '{"a": 1e400}'])
def test_a_number_that_json_cannot_keep_is_not_read(text: str) -> None:
    with pytest.raises(ExpressionError, match="not JSON"):
        run("parseJson(t)", t=text)


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\uDFFF": 1}', '["a", "\\ud83d \\ude00"]', '"\ud800"'])
def test_half_a_character_is_not_read(text: str) -> None:
    with pytest.raises(ExpressionError, match="half of a surrogate pair"):
        run("parseJson(t)", t=text)


def test_a_character_of_two_escapes_is_read_whole() -> None:
    assert run("parseJson(t)", t='"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize(
    "text",
    [
        "'x'.substring(huge)",
        "{1, 2}[huge]",
        "huge.intValue()",
        "huge % 2",
        "2 % nothing",
        "nothing.intValue()",
        "duration(nothing)",
        "date(nothing)",
        "format('9999-12-31T23:59:59Z', 'HH', 'Asia/Tokyo')",
        "format('0001-01-01T00:00:00Z', 'HH', 'America/New_York')",
        "plusDays('9999-12-31', 1)",
        "plusDays('9999-12-31', huge)",
        "date('9999-12-31T24:00:00')",
        "daysBetween('0001-01-01T00:00:00+14:00', '9999-12-31T23:59:59-12:00') / 0",
    ],
)
def test_what_lies_beyond_every_number_and_time_is_an_expression_error(text: str) -> None:
    with pytest.raises(ExpressionError):
        run(text, huge=float("inf"), nothing=float("nan"))
