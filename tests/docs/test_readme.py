"""What the README shows is so."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MUSTER = Path(sys.executable).with_name("muster")
OFFLINE = {"validate", "diagram", "eval", "run"}


def shown_commands() -> list[tuple[str, str]]:
    """Each command of the console blocks, and the lines that are shown as its answer."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```", README, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = part.partition("\n")
            found.append((command, answer))
    return found


def words_of(command: str) -> list[str]:
    return shlex.split(command, comments=True)


COMMANDS = [
    (command, answer)
    for command, answer in shown_commands()
    if words_of(command)[0].endswith("muster") and words_of(command)[1] in OFFLINE
]


def test_the_readme_shows_how_to_validate_draw_and_evaluate() -> None:
    assert {words_of(command)[1] for command, _ in COMMANDS} >= {"validate", "diagram", "eval"}


@pytest.mark.parametrize(("command", "answer"), COMMANDS, ids=[command[:60] for command, _ in COMMANDS])
def test_a_command_of_the_readme_does_what_is_shown(command: str, answer: str) -> None:
    done = subprocess.run(
        [MUSTER, *words_of(command)[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout, "it says something"
    if answer:
        assert done.stdout == answer


def test_the_readme_names_only_files_that_exist() -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    used = re.findall(r"(?<![\w/.])@?((?:examples|docs|scripts|src|tests)/[\w./-]*\w)", README)
    named = {*linked, *used}
    assert {"docs/definitions.md", "CHANGELOG.md"} <= named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_readme_names_only_targets_that_make_has() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", README)) | set(re.findall(r"^make ([a-z-]+)", README, re.M))
    assert named <= targets
    assert "run" in named
