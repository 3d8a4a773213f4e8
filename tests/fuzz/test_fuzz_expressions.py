"""Random texts give values or expression errors, and nothing else."""

import pytest

from fuzz.fuzz_expressions import fuzz

# The same on every run, so that a change is judged by what it changes: `make fuzz` draws others.
SEED = 20261115


@pytest.mark.slow
def test_random_texts_give_values_or_expression_errors() -> None:
    assert fuzz(20_000, SEED) > 1_000


def test_a_few_random_texts_on_every_run() -> None:
    assert fuzz(1_500, SEED + 1) > 100
