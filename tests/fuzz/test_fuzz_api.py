"""Requests of every kind, for every operation of the API's document, are answered as it says."""

import json
import re
from pathlib import Path

import pytest

from fuzz.fuzz_api import ENDLESS, fuzz

# The same on every run, so that a change is judged by what it changes: `make fuzz-api` sends others.
SEED = 20261116


@pytest.mark.slow
def test_whatever_is_sent_is_answered_as_the_document_says(tmp_path: Path) -> None:
    ended = fuzz(tmp_path, count=4, seed=SEED, phases="examples,fuzzing")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    [tested] = re.findall(r"^\s*Tested: (\d+)$", ended.stdout, re.MULTILINE)
    assert int(tested) == len(operations(tmp_path)) > 100


def operations(folder: Path) -> list[tuple[str, str]]:
    """Those of the document that come to an end."""
    paths = json.loads((folder / "openapi.json").read_text())["paths"]
    return [(method, path) for path in paths if not re.search(ENDLESS, path) for method in paths[path]]
