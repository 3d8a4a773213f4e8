"""Continuous integration accepts no skipped test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

A_SKIP = """
import pytest
def test_good(): pass
@pytest.mark.skip(reason="too lazy")
def test_lazy(): pass
"""
A_MODULE = """
import pytest
pytest.importorskip("no_such_module_anywhere")
"""
A_FIXTURE = """
import pytest
@pytest.fixture
def service(): pytest.skip("not installed")
def test_service(service): pass
"""
A_TABLE = """
def test_telling(record_property):
    print("captured")
    record_property("table", "work   seconds")
"""
AN_EXPECTED_FAILURE = """
import pytest
@pytest.mark.xfail(strict=True, reason="known")
def test_known(): assert False
"""


def run(folder: Path, text: str, ci: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "test_something.py").write_text(text)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [(A_SKIP, "test_lazy"), (A_MODULE, "test_something.py"), (A_FIXTURE, "test_service")],
    ids=["test", "module", "fixture"],
)
@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_a_skip_fails_the_run_in_ci_and_is_named(tmp_path: Path, text: str, name: str, workers: str) -> None:
    done = run(tmp_path, text, "true", "-n", workers)
    assert done.returncode == 1, done.stdout
    assert "skipped, which CI does not accept" in done.stdout
    assert name in done.stdout.partition("CI does not accept")[2]


def test_a_skip_is_allowed_elsewhere(tmp_path: Path) -> None:
    assert run(tmp_path, A_SKIP, "").returncode == 0


def test_a_failure_that_is_expected_is_no_skip(tmp_path: Path) -> None:
    assert run(tmp_path, AN_EXPECTED_FAILURE, "true").returncode == 0


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_a_table_that_a_test_records_is_printed_although_it_passed(tmp_path: Path, workers: str) -> None:
    done = run(tmp_path, A_TABLE, "true", "-q", "-n", workers)
    assert done.returncode == 0, done.stdout
    assert "work   seconds\n" in done.stdout
    assert "captured" not in done.stdout
