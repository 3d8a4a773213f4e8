"""Removing one guard at a time from a copy of the sources, and running what should notice."""

import compileall
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
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
# Of one command, or so many times what it takes where nothing is removed; that may take as long as it does.
LONGEST_SECONDS, LONGEST_TIMES = 300, 5
LONGEST_WITHOUT_ANY = 3600


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


class Fate(StrEnum):
    NOTICED = "noticed"
    SURVIVED = "survived"
    ENDLESS = "did not end"
    """What should have noticed did not come to an end: nobody knows whether because of the mutant."""


@dataclass(frozen=True)
class Found:
    """What came of running a command; `said` is who noticed."""

    fate: Fate
    said: str
    seconds: float


class Gone(Exception):
    """The text of a mutant is not in its file exactly once: the guard has changed, and so must the mutant."""


def mutated(mutant: Mutant) -> str:
    """The file without the guard. Raises `Gone`."""
    text = mutant.path.read_text()
    if text.count(mutant.old) != 1:
        raise Gone(f"{mutant.name}: found {text.count(mutant.old)} times in {mutant.file}:\n{mutant.old}")
    return text.replace(mutant.old, mutant.new)


def hunt(mutant: Mutant, seconds: float = LONGEST_SECONDS) -> Found:
    """Run what should notice this mutant."""
    with _copy() as sources:
        (sources / "muster" / mutant.file).write_text(mutated(mutant))
        return _run(mutant.noticed_by, sources, seconds)


def without_any(noticed_by: str) -> Found:
    """Run it where nothing is removed: whoever notices something there proves nothing elsewhere."""
    with _copy() as sources:
        return _run(noticed_by, sources, LONGEST_WITHOUT_ANY)


def _run(noticed_by: str, sources: Path, seconds: float) -> Found:
    began = time.monotonic()
    environment = dict(os.environ) | {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            _command(noticed_by),
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Found(Fate.ENDLESS, noticed_by, time.monotonic() - began)
    said, took = ran.stdout + ran.stderr, time.monotonic() - began
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{noticed_by} could not be run:\n{said}")
    return Found(Fate.NOTICED, _who_noticed(said), took) if ran.returncode else Found(Fate.SURVIVED, "", took)


@contextmanager
def _copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCES, copy)
        # What is as it was need not be compiled again.
        compileall.compile_dir(copy, quiet=1)
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
