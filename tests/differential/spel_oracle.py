"""Asks the real Spring expression language, in one Java process."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

ANSWER = Path(__file__).parents[2] / "scripts" / "spel" / "answer"
INSTALL = "apt-get install -y --no-install-recommends default-jdk-headless maven"


def ask_spring(cases: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Spring's answers, each a `value` or an `error`, and `lenient` where a missing key was the error."""
    prepare()
    lines = "".join(json.dumps({"expr": expr, "context": context}) + "\n" for expr, context in cases)
    asked = subprocess.run([ANSWER], input=lines, capture_output=True, text=True, timeout=600, check=False)
    assert asked.returncode == 0, asked.stderr
    answers = [json.loads(line) for line in asked.stdout.splitlines()]
    assert len(answers) == len(cases)
    return answers


def prepare() -> None:
    """Fetch and compile what is needed. Where that cannot be done, skip loudly; in CI, fail."""
    if not (shutil.which("javac") and shutil.which("mvn")):
        give_up(f"Java and Maven are needed: {INSTALL}")
    made = subprocess.run([ANSWER, "--prepare"], capture_output=True, text=True, timeout=600, check=False)
    if made.returncode:
        give_up(f"Maven could not fetch the library:\n{made.stdout[-500:]}{made.stderr[-500:]}")


def give_up(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(f"NOT COMPARED WITH SPRING. {reason}")
