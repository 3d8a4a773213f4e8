"""The shell knows the names, once it was taught them: a real bash, in a home of its own."""

import os
import subprocess
from pathlib import Path

import pytest

from polling import PATIENCE
from servers import MUSTER

# What the tab key does: the words so far, the last of them unfinished.
PRESS_TAB = """
source ~/.bashrc
words=({words})
COMP_WORDS=("${{words[@]}}") COMP_CWORD=$((${{#words[@]}} - 1))
$(complete -p muster | sed 's/.*-F \\([^ ]*\\) .*/\\1/') muster
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where somebody has typed `muster --install-completion`."""
    folder = tmp_path_factory.mktemp("home")
    bash(folder, "muster --install-completion")
    return folder


def bash(home: Path, script: str) -> list[str]:
    environment = {"HOME": str(home), "PATH": f"{MUSTER.parent}:{os.environ['PATH']}", "SHELL": "/bin/bash"}
    done = subprocess.run(
        # Two commands, so that the shell stays there to be recognised.
        ["bash", "--norc", "-c", f"{script}\ntrue"],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("muster exec", {"executions"}),
        ("muster executions p", {"pause"}),
        ("muster monitor verify --to", {"--to-now"}),
        ("muster d", {"diagram", "doctor", "dead-letters", "demo"}),
    ],
)
def test_what_was_begun_is_completed(words: str, offered: set[str], home: Path) -> None:
    assert set(bash(home, PRESS_TAB.format(words=words))) == offered
