"""Removing one guard at a time from a copy of the sources, and running what should notice."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
LONGEST_SECONDS = 300


@dataclass(frozen=True)
class Mutant:
    """A guard and what is left without it. `old` is in the file once; `noticed_by` is a command of each kind:
    `sim SCENARIO SEEDS`, or what pytest is given."""

    name: str
    file: str
    old: str
    new: str
    noticed_by: str

    @property
    def path(self) -> Path:
        return SOURCES / "muster" / self.file


@dataclass(frozen=True)
class Found:
    """`by` is what noticed; None: nothing did."""

    mutant: Mutant
    by: str | None
    seconds: float


class Gone(Exception):
    """The text of a mutant is not in its file exactly once: the guard has changed, and so must the mutant."""


def mutated(mutant: Mutant) -> str:
    """The file without the guard. Raises `Gone`."""
    text = mutant.path.read_text()
    if text.count(mutant.old) != 1:
        raise Gone(f"{mutant.name}: found {text.count(mutant.old)} times in {mutant.file}:\n{mutant.old}")
    return text.replace(mutant.old, mutant.new)


def hunt(mutant: Mutant) -> Found:
    """Run what should notice this mutant. What then hangs has noticed, too."""
    began = time.monotonic()
    with _copy_with(mutant) as sources:
        environment = dict(os.environ) | {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
        by = _run(mutant, environment)
    return Found(mutant, by, time.monotonic() - began)


def _run(mutant: Mutant, environment: dict[str, str]) -> str | None:
    try:
        ran = subprocess.run(
            _command(mutant.noticed_by),
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"{mutant.noticed_by} does not end"
    said = ran.stdout + ran.stderr
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{mutant.name}: {mutant.noticed_by} could not be run:\n{said}")
    return _who_noticed(said) if ran.returncode == 1 else None


@contextmanager
def _copy_with(mutant: Mutant) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "muster" / mutant.file).write_text(mutated(mutant))
        yield copy


def _command(noticed_by: str) -> list[str]:
    words = noticed_by.split(" ", 2)
    if words[0] == "sim":
        options = ["--only", words[1], "--seeds", words[2], "--jobs", "1"]
        return [sys.executable, "-m", "muster.sim", *options]
    path, _, wanted = noticed_by.partition(" ")
    chosen = ["-k", wanted] if wanted else []
    return [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", path, *chosen]


def _who_noticed(said: str) -> str:
    """The test that failed, or the seed and what was found wrong."""
    if seed := re.search(r"^\w+: seed (\d+):\n +(.*)$", said, re.MULTILINE):
        return f"seed {seed[1]}: {seed[2]}"
    test = re.search(r"^(?:FAILED|ERROR) \S*?([^/\s]+::\S+)", said, re.MULTILINE)
    return test[1] if test else said.strip().splitlines()[-1]
