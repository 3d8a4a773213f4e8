"""Thousands of generated expressions have the same value, or no value, here and in Spring."""

import json
import os
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from differential.spel_generator import Case, Generator
from differential.spel_oracle import ask_spring
from muster.expr import ExpressionError, Scope, compile_expression

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
# The same ones on every run, so that a change is judged by what it changes: `make fuzz` draws others.
COUNT = int(os.environ.get("SPEL_COUNT", "8000"))


def ours(case: Case) -> dict[str, Any]:
    try:
        return {"value": compile_expression(case.expr).evaluate(Scope(case.context, NOW))}
    except ExpressionError as error:
        return {"error": error.message, "code": error.code}


def verdict(mine: dict[str, Any], springs: dict[str, Any]) -> str:
    """How two answers compare. The differences that are let pass here are in the table of documented ones."""
    if "value" in mine and "lenient" in springs:
        springs = springs["lenient"]
    if "error" in mine and "error" in springs:
        return "error in both"
    if "value" in mine and "value" in springs:
        return "same value" if spelled(mine["value"]) == spelled(springs["value"]) else "DIFFERENT"
    if mine.get("code") == "EXPRESSION_ARITHMETIC" and "value" in springs:
        return "no number that is not finite"
    if "value" in mine and springs["error"].startswith("EL1076E"):
        return "a longer text"
    return "DIFFERENT"


def spelled(value: Any) -> str:
    # 1 and 1.0 and true are spelled differently, so types are compared too; an object's order is not.
    return json.dumps(value, sort_keys=True)


@pytest.mark.spel
def test_generated_expressions_mean_what_they_mean_to_spring(capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("SPEL_SEED", "20261115"))
    generator = Generator(seed)
    cases = [generator.case() for _ in range(COUNT)]
    answers = ask_spring([(case.expr, case.context) for case in cases])
    found = [
        (verdict(mine := ours(case), springs), case, mine, springs)
        for case, springs in zip(cases, answers, strict=True)
    ]
    counts = Counter(kind for kind, *_ in found)
    with capsys.disabled():
        print(f"\nSPEL_SEED={seed}: {dict(counts)}")  # noqa: T201  # how much was compared
    different = [(case.expr, mine, springs) for kind, case, mine, springs in found if kind == "DIFFERENT"]
    shown = "\n".join(
        f"{expr}\n  ours {mine}\n  Spring's {springs}" for expr, mine, springs in different[:20]
    )
    assert not different, f"{len(different)} differences with SPEL_SEED={seed}:\n{shown}"
    assert counts["same value"] > COUNT * 0.6, "most of what is generated should have a value"
    assert counts["no number that is not finite"] < COUNT * 0.02
