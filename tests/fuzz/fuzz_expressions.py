"""Throws random texts at the expression language: each must give a value or an `ExpressionError`, soon.

Run: `python tests/fuzz/fuzz_expressions.py --count 1000000 [--seed N]`.
"""

import argparse
import json
import random
import sys
import time
from datetime import UTC, datetime
from typing import Any

from muster.expr import ExpressionError, Scope, compile_expression, compile_mapping, compile_template
from muster.expr.functions import FUNCTIONS
from muster.expr.methods import METHODS

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
SLOW = 2.0

CONTEXT: dict[str, Any] = {
    "a": {"b": {"c": 1}, "list": [1, 2.5, "x", None, True]},
    "s": "hello world",
    "n": None,
    "i": 42,
    "f": -1.25,
    "t": True,
    "users": [{"id": number, "name": f"u{number}", "tags": ["a", "b"]} for number in range(5)],
    "time": "2026-11-15T09:30:00Z",
    "big": 10**500,
}

# At the ends of what numbers, times and texts can be, and beyond them.
EXTREMES = [
    "1e999",
    "'1e999'",
    "'9999-12-31T23:59:59Z'",
    "'0001-01-01'",
    "parseJson('1e999')",
    "parseJson('-1e308')",
    "parseJson('\"\\ud800\"')",
    "format('9999-12-31T23:59:59Z', 'HH', 'Asia/Tokyo')",
]

WORDS = [
    *CONTEXT,
    "id",
    "name",
    "tags",
    "b",
    "c",
    "key",
    "value",
    "#this",
    "#root",
    "#s",
    "#nope",
    "true",
    "false",
    "null",
    "and",
    "or",
    "not",
    "matches",
    "between",
    "eq",
    "ne",
    "lt",
    "ge",
    "div",
    "mod",
    "new",
    "T(",
    "instanceof",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "!",
    "?",
    ":",
    "?:",
    ".",
    "?.",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".?[",
    ".![",
    ".^[",
    ".$[",
    "?.[",
    "?.![",
    "#",
    "@",
    "$",
    "=",
    "++",
    "--",
    "&",
    "|",
    "0",
    "1",
    "2",
    "-1",
    "9",
    "1.5",
    "1e3",
    "1e308",
    "0xFF",
    "12L",
    "999999999999",
    "''",
    "'x'",
    '"y"',
    "'a.*'",
    "'('",
    "'l'",
    "'2026-11-15'",
    "'15m'",
    "'yyyy'",
    "'Asia/Tokyo'",
    *EXTREMES,
    " ",
    "\t",
    "\\",
    "é",
    "\u200b",
    "😀",
    "\ud800",
    "__x",
    "#{",
    "@{",
    "${",
    "}}",
    *(f".{name}(" for name in METHODS),
    *(f"{name}(" for name in FUNCTIONS),
]

OPERATORS = ["+", "-", "*", "/", "%", "^", "==", "<", "and", "or", "?:", "matches", "between"]


class Fuzzer:
    """Makes texts: random words, mended phrases, and broken copies of earlier ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._earlier = [
            "users.?[id > 2].![name + '!']",
            "a.b.c == 1 ? s.substring(1, 3) : {i, f, n}",
            "s matches 'h.*'",
        ]

    def text(self) -> str:
        make = self._random.choice(
            [self._words, self._words, self._phrase, self._phrase, self._mutated, self._characters]
        )
        text = make()
        if len(text) < 300 and self._random.random() < 0.05:
            self._earlier[self._random.randrange(len(self._earlier))] = text
            if len(self._earlier) < 50:
                self._earlier.append(text)
        return text

    def _words(self) -> str:
        return "".join(self._random.choice(WORDS) for _ in range(self._random.randint(1, 12)))

    def _phrase(self, depth: int = 3) -> str:
        pick = self._random.choice
        if depth == 0:
            return pick([*WORDS[:24], *EXTREMES, "0", "1", "-1", "1.5", "''", "'x'", "{}", "{:}", "{1, 2}"])
        one, two = self._phrase(depth - 1), self._phrase(depth - 1)
        return pick(
            [
                f"{one} {pick(OPERATORS)} {two}",
                f"({one})",
                f"{one}.{pick(list(METHODS))}({two})",
                f"{one}.{pick(list(METHODS))}()",
                f"{pick(list(FUNCTIONS))}({one}, {two})",
                f"{pick(list(FUNCTIONS))}({one})",
                f"{one}[{two}]",
                f"{one}.{pick(['?', '!', '^', '$'])}[{two}]",
                f"{one} ? {two} : {one}",
                f"{{{one}, {two}}}",
                f"{{k: {one}}}",
                f"!{one}",
            ]
        )

    def _mutated(self) -> str:
        text = list(self._random.choice(self._earlier))
        for _ in range(self._random.randint(1, 4)):
            at = self._random.randrange(len(text) + 1)
            text[at : at + self._random.randint(0, 2)] = self._random.choice(WORDS)
        return "".join(text)

    def _characters(self) -> str:
        ends = [self._random.choice([127, 0x110000]) for _ in range(self._random.randint(0, 20))]
        return "".join(chr(self._random.randrange(32, end)) for end in ends)


def try_one(text: str, scope: Scope) -> bool:
    """Whether the text has a value. Anything but a JSON value or an `ExpressionError` is raised."""
    values = []
    for attempt in (
        lambda: compile_expression(text).evaluate(scope),
        lambda: compile_template(f"x#{{{text}}}").resolve(scope),
        lambda: compile_mapping(text).find(CONTEXT),
    ):
        try:
            values.append(attempt())
        except ExpressionError as error:
            if not error.message:
                raise AssertionError("an error says nothing") from error
    for value in values[:1]:
        json.dumps(value, allow_nan=False)
    return bool(values)


def fuzz(count: int, seed: int) -> int:
    """Try that many texts; the number of those that had a value."""
    fuzzer, scope, with_value = Fuzzer(seed), Scope(CONTEXT, NOW), 0
    for number in range(count):
        text = fuzzer.text()
        started = time.process_time()  # a busy machine makes nothing slow
        try:
            with_value += try_one(text, scope)
        except Exception as error:
            raise AssertionError(f"seed {seed}, text {number}: {text!r} raised {error!r}") from error
        taken = time.process_time() - started
        assert taken < SLOW, f"seed {seed}, text {number}: {text!r} took {taken:.1f} s"
    return with_value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    started = time.perf_counter()
    with_value = fuzz(options.count, options.seed)
    taken = time.perf_counter() - started
    sys.stdout.write(
        f"{options.count:,} texts in {taken:.0f} s, {with_value:,} with a value, nothing unexpected\n"
    )


if __name__ == "__main__":
    main()
