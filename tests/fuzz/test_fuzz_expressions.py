"""Random texts give values or expression errors, and nothing else."""

import os
import random

import pytest

from fuzz.fuzz_expressions import fuzz


@pytest.mark.slow
def test_random_texts_give_values_or_expression_errors(capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("FUZZ_SEED", random.randrange(2**32)))
    with capsys.disabled():
        print(f"\nFUZZ_SEED={seed}")  # noqa: T201  # a failure elsewhere is repeated with this seed
    assert fuzz(20_000, seed) > 1_000


def test_a_few_random_texts_on_every_run() -> None:
    assert fuzz(1_500, 20261115) > 100
