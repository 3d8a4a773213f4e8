"""Whatever an expression asks for, it ends soon, with a clear error."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from muster.expr import ExpressionError, Scope, compile_expression, compile_template

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
MILLISECONDS = 50


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


CONTEXT: dict[str, Any] = {
    "thousand": list(range(1000)),
    "million": [1] * 1_000_000,
    "texts": ["x" * 100] * 10_000,
    "wide": [list(range(1000))] * 1000,
    "long": "a" * 1_000_000,
    "broken": "a" * 100_000 + "!",
    "map": {f"key{number}": number for number in range(100_000)},
    "deep": nested(5_000),
    "huge": 10**900,
    **{"x" * 30_000 + str(number): number for number in range(50)},
    "entries": [{"k": number % 7, "v": "x" * 50} for number in range(100_000)],
}

BOMBS = {
    "nested brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "nested lists": "{" * 5_000 + "}" * 5_000,
    "nested indexes": "a[" * 5_000 + "0" + "]" * 5_000,
    "nested ternaries": "true ? " * 5_000 + "1" + " : 2" * 5_000,
    "ternaries in a row": "false ? 1 : " * 5_000 + "2",
    "elvises in a row": "null ?: " * 5_000 + "1",
    "many signs": "-" + " -" * 5_000 + "1",
    "many nots": "!" * 5_000 + "true",
    "nested calls": "abs(" * 5_000 + "1" + ")" * 5_000,
    "nested projections in the source": "thousand.![" * 200 + "1" + "]" * 200,
    "a very long path": "a" + ".b" * 20_000,
    "a very long sum": "1" + " + 1" * 16_000,
    "too much source": "1 + " * 20_000 + "1",
    "tower of powers": "((9 ^ 9) ^ 9) ^ 9 ^ 9",
    "powers of powers": "(((9 ^ 99) ^ 99) ^ 99) ^ 99",
    "a huge power": "9 ^ 999999999999",
    "a huge power of a variable": "huge ^ huge",
    "a huge fraction": "1e308 * 10",
    "squares": "(((huge * huge) * (huge * huge)) * huge)",
    "a long number": "9" * 60_000,
    "repeat": "'x'.repeat(10 ^ 9)",
    "repeat of repeat": "'x'.repeat(1000000).repeat(1000000)",
    "text times number": "'abc' * 1000000000",
    "doubling": "'x'.repeat(600000) + 'x'.repeat(600000)",
    "replace that grows": "long.replace('a', 'bbbbbbbbbb')",
    "replaceAll that grows": "long.replaceAll('a', 'bbbbbbbbbb')",
    "replace of nothing": "long.replace('', 'bbbb')",
    "split of everything": "long.split('')",
    "a list of long texts": "{" + ", ".join(["'x'.repeat(1000000)"] * 500) + "}",
    "a projection of long texts": "thousand.!['x'.repeat(100000)]",
    "a projection of references to a long text": "thousand.![#long]",
    "joining long texts": "join(thousand.![#long], '')",
    "catastrophic pattern": "broken matches '(a+)+' ? 1 : broken.replaceAll('((a*)*)*!', 'x').length() / 0",
    "alternatives": "broken matches '(a|a|a)*' ? 1 : 1 / 0",
    "a pattern that is a program": "broken matches '(.*){900}x'",
    "a pattern of many repeats": "'a' matches '((a{100}){100}){100}'",
    "a long pattern": "'a' matches 'a'.repeat(100000)",
    "unicode classes": "'a' matches '(\\pL{100}\\pN{100}){10}'",
    "patterns in a loop": "thousand.![#broken.replaceAll('(.*)(.*)(.*)x', '')]",
    "projection of a projection": "thousand.![#thousand.![#thousand.![1]]]",
    "selection over a million": "million.?[#this > 0]",
    "projection over a large map": "map.![value + 1]",
    "sum of a million": "sum(million)",
    "sorting": "sortBy(entries, 'v')",
    "grouping": "groupBy(entries, 'v')",
    "distinct": "distinct(wide)",
    "flatten": "flatten(wide)",
    "flatten what is deep": "flatten(deep)",
    "json of much": "json(wide)",
    "json of what is deep": "json(deep)",
    "hash of much": "hash(wide)",
    "text of much": "'' + million",
    "text of what is deep": "'' + deep",
    "toString of much": "wide.toString()",
    "comparing much": "thousand.![#wide == #wide]",
    "comparing what is deep": "deep == {deep}",
    "contains in a loop": "thousand.![#wide.contains(#wide)]",
    "containsAll": "million.containsAll(million)",
    "search in a loop": "thousand.![#long.contains('ab')]",
    "upper case in a loop": "thousand.![#long.toUpperCase().length()]",
    "keys in a loop": "thousand.![#map.keySet().size()]",
    "sublists in a loop": "thousand.![#million.subList(0, 900000).size()]",
    "parse a deep JSON": "parseJson('['.repeat(100000))",
    "parse JSON in a loop": "thousand.![parseJson('[' + '1,'.repeat(20000) + '1]').size()]",
    "a number of many digits": "number('9'.repeat(100000))",
    "format": "format('2026-11-15', 'y'.repeat(1000000))",
    "a far date": "plusDays('2026-11-15', 9 ^ 99)",
    "a name like a thousand others": "x" * 30_000,
    "rounding": "round(1e300, 999999)",
}


def milliseconds(text: str) -> float:
    """The shortest of three times that it takes to refuse an expression, compiling included."""
    best = float("inf")
    for attempt in range(3):
        started = time.process_time()
        with pytest.raises(ExpressionError):
            compile_expression(text + " " * attempt).evaluate(Scope(CONTEXT, NOW))
        best = min(best, (time.process_time() - started) * 1000)
        if best < MILLISECONDS:
            break
    return best


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_time(name: str) -> None:
    assert milliseconds(BOMBS[name]) < MILLISECONDS


@pytest.mark.parametrize("name", BOMBS)
def test_a_refusal_is_short_and_clear(name: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(BOMBS[name]).evaluate(Scope(CONTEXT, NOW))
    assert 10 < len(caught.value.message) < 300
    assert caught.value.code.startswith("EXPRESSION_")


@pytest.mark.parametrize(
    "text",
    [
        "million.size()",
        "million[999999]",
        "sum(thousand)",
        "thousand.?[#this > 500].![#this * 2].size()",
        "texts.size() > 5 and long.length() == 1000000",
        "sortBy(entries.subList(0, 1000), 'k').size()",
        "map.containsKey('key5')",
        "'a' + 'b'" + " + 'c'" * 500,
        "broken matches '(a|b)*'",
        "json(thousand).length()",
    ],
)
def test_ordinary_work_on_large_data_is_not_refused(text: str) -> None:
    assert compile_expression(text).evaluate(Scope(CONTEXT, NOW)) is not None


def test_nothing_may_be_repeated_any_number_of_times() -> None:
    assert compile_expression("'' * huge + ''.repeat(huge)").evaluate(Scope(CONTEXT, NOW)) == ""


def test_a_large_value_of_the_context_is_handed_on_as_it_is() -> None:
    assert compile_template("#{million}").resolve(Scope(CONTEXT, NOW)) is CONTEXT["million"]


def test_a_template_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ExpressionError, match="deep"):
        compile_template(nested(5_000))


def called_from(depth: int, text: str) -> Any:
    """The value, computed from far down the stack, as in a server with many layers."""
    return called_from(depth - 1, text) if depth else compile_expression(text).evaluate(Scope(CONTEXT, NOW))


@pytest.mark.parametrize(
    ("before", "after"), [("(", ")"), ("1 + (", ")"), ("{", "}[0]"), ("abs(", ")"), ("-(", ")")]
)
def test_what_is_nested_64_deep_has_a_value_wherever_it_is_asked(before: str, after: str) -> None:
    depth = 32 if before == "-(" else 64  # a sign is a level of its own
    assert called_from(200, before * depth + "1" + after * depth) in (1, depth + 1)
    with pytest.raises(ExpressionError, match="nested deeper than 64"):
        compile_expression(before * 65 + "1" + after * 65)
