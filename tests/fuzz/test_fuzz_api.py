"""Requests of every kind, for every operation of the API's document, are answered as it says."""

from pathlib import Path

import pytest

from fuzz.fuzz_api import fuzz

# The same on every run, so that a change is judged by what it changes: `make fuzz-api` sends others.
SEED = 20261116


@pytest.mark.slow
def test_whatever_is_sent_is_answered_as_the_document_says(tmp_path: Path) -> None:
    ended = fuzz(tmp_path, count=4, seed=SEED, phases="fuzzing")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Tested: 1" in ended.stdout, "over a hundred operations"
