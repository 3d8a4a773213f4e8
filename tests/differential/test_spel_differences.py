"""Where this language differs from Spring on purpose: each case with both answers, and the reason.

The same table stands in `docs/expressions.md`.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from differential.spel_oracle import ask_spring
from muster.expr import ExpressionError, Scope, compile_expression

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
ERROR = object()
CONTEXT: dict[str, Any] = {
    "m": {"x": 1, "1": "one"},
    "s": "hello",
    "n": None,
    "big": 9007199254740993,
    "l": [1, 2, 3],
}

DIFFERENCES: list[tuple[str, Any, Any, str]] = [
    ("m.missing", None, ERROR, "a key that an object lacks is null"),
    ("2147483647 + 1", 2147483648, -2147483648, "whole numbers do not overflow"),
    ("2147483648", 2147483648, ERROR, "whole numbers do not overflow"),
    ("3 ^ 35", 3**35, 50031545098999704, "whole powers are exact"),
    ("2 ^ 100", 2**100, 2**63 - 1, "whole powers are exact"),
    ("(-25) ^ 9", -(25**9), -(2**31), "whole powers are exact"),
    ("{1} == {1L}", True, False, "there is one type of whole number"),
    ("1.0 / 0", ERROR, "Infinity", "a number is always finite"),
    ("0.0 / 0", ERROR, "NaN", "a number is always finite"),
    ("0 ^ -1", ERROR, 2**63 - 1, "a number is always finite"),
    ("1.1f == 1.1", True, False, "there is one type of fraction"),
    ("'ab' * 200", "ab" * 200, ERROR, "texts may have 1 MiB"),
    ("s.charAt(0) == 'h'", True, False, "a character is a text"),
    ("'😀'.length()", 1, 2, "a character beyond the basic plane is one character"),
    ("s.split('l').size()", 3, ERROR, "arrays and sets are lists"),
    ("m.keySet() == {'x', '1'}", True, False, "arrays and sets are lists"),
    ("m.values().get(0)", 1, ERROR, "arrays and sets are lists"),
    ("m[1]", "one", None, "keys are texts"),
    ("m.get(1)", "one", None, "keys are texts"),
    ("{a: 1}.![#this]", [{"key": "a", "value": 1}], [{"a": 1}], "an entry is an object with key and value"),
    ("s.replace('l', 1)", ERROR, "he\u0001\u0001o", "replace takes texts, not character numbers"),
    ("'ab' matches '(?=a)ab'", ERROR, True, "patterns are RE2's: linear time, no look-around"),
    ("l.containsAll(1)", ERROR, True, "containsAll takes a list"),
    ("(1e12).intValue()", 10**12, 2**31 - 1, "whole numbers do not overflow"),
    ("s.hashCode()", ERROR, 99162322, "methods come from a fixed list"),
    ("5 instanceof T(Integer)", ERROR, True, "nothing reaches beyond the data"),
    ("T(java.lang.Math).abs(-1)", ERROR, 1, "nothing reaches beyond the data"),
    ("new String('x')", ERROR, "x", "nothing reaches beyond the data"),
    ("n = 5", ERROR, 5, "expressions change nothing"),
    ("m.x++", ERROR, 1, "expressions change nothing"),
    ("m.#s", ERROR, "hello", "a variable does not follow a dot"),
    ("s.indexOf('l',)", ERROR, 2, "no comma after the last argument"),
    ("abs(-1)", 1, ERROR, "functions can be called by name"),
]


def our_answer(expr: str) -> Any:
    try:
        return compile_expression(expr).evaluate(Scope(CONTEXT, NOW))
    except ExpressionError:
        return ERROR


@pytest.mark.parametrize(("expr", "expected"), [(expr, mine) for expr, mine, _, _ in DIFFERENCES])
def test_our_side_of_each_documented_difference(expr: str, expected: Any) -> None:
    assert our_answer(expr) == expected


@pytest.mark.spel
def test_springs_side_of_each_documented_difference() -> None:
    answers = ask_spring([(expr, CONTEXT) for expr, *_ in DIFFERENCES])
    theirs = {
        expr: a.get("value") if "value" in a else ERROR
        for (expr, *_), a in zip(DIFFERENCES, answers, strict=True)
    }
    assert theirs == {expr: springs for expr, _, springs, _ in DIFFERENCES}


def test_every_reason_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text().lower()
    assert [reason for *_, reason in DIFFERENCES if reason.lower() not in page] == []
