"""Somebody at a terminal who types what a page says, and compares what comes with what the page shows."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from polling import PATIENCE

# As on the page, but that whatever is refused ends it.
FRAME = """
set -o pipefail
curl() { command curl --fail-with-body --silent --show-error "$@" && echo; }
"""
LEFT_OUT = "…"
LOOK = re.compile(r"muster [a-z]+ ls\b")
# What is another one each time.
CHANGING = {
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}": "ID",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?": "TIME",
    r"\b\d+(\.\d+)? ?(ms|s|GiB|MiB)\b": "SO MUCH",
    r"\bmst_\w+": "TOKEN",
    r"127\.0\.0\.1:\d+": "HERE",
    r"[ \t]+": " ",
}


@dataclass(frozen=True)
class Typed:
    """A command, or several, and what a page shows of their answer: as a whole, or some lines out of it."""

    text: str
    shown: str = ""
    is_whole: bool = False

    @property
    def comes_in_a_moment(self) -> bool:
        """It says so; or it is a look at what goes on: who looks too early looks again."""
        return self.text.startswith("# in a moment") or bool(
            self.is_whole and self.shown and LOOK.match(self.text)
        )

    def fits(self, answer: str) -> bool:
        """Whether all that is shown came, in its order; what is left out is marked."""
        shown = self.shown
        if self.is_whole:
            answer, shown = steady(answer), steady(shown)
            if shown and LEFT_OUT not in shown:
                return answer.strip() == shown.strip()
        place = 0
        for piece in shown.split(LEFT_OUT if self.is_whole else "\n"):
            if (found := answer.find(piece.strip(), place)) < 0:
                return False
            place = found + len(piece.strip())
        return True


def steady(text: str) -> str:
    """Without what is another one each time."""
    for pattern, name in CHANGING.items():
        text = re.sub(pattern, name, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def typed(console: str) -> list[Typed]:
    """The commands of a `console` block, each with the answer that stands below it."""
    found = []
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        count = next(count for count in range(1, len(lines) + 1) if _is_whole(lines[:count]))
        found.append(Typed("\n".join(lines[:count]), "\n".join(lines[count:]), is_whole=True))
    return found


def _is_whole(lines: list[str]) -> bool:
    """Whether a command ends here: its quotes are closed, and its line does not go on."""
    try:
        shlex.split("\n".join(lines), comments=True)
    except ValueError:
        return False
    return not lines[-1].endswith("\\")


class Terminal:
    """One shell for a whole page, in a folder of its own, with what `environment` says."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._answer = folder / ".answer"
        self._typed = folder / ".typed"
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env={"TERM": "dumb", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._run(FRAME, ends=True)

    def type(self, typed: Typed) -> None:
        """Type it, and see that it goes well and that what is shown comes."""
        give_up = time.monotonic() + (PATIENCE if typed.comes_in_a_moment else 0.0)
        while True:
            code = self._run(typed.text, ends=not typed.comes_in_a_moment)
            if code == 0 and typed.fits(self._said()):
                return
            if time.monotonic() > give_up:
                break
            time.sleep(0.5)
        told = f"{typed.text}\nended with {code} and said:\n{self._said()}\nThe page shows:\n{typed.shown}"
        raise AssertionError(told)

    def _run(self, text: str, *, ends: bool) -> int:
        """How it ended. With `ends` whatever fails in it is the end, as in a script."""
        self._typed.write_text(text)
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"set {'-e' if ends else '+e'}; . ./.typed > .answer 2>&1; echo $?; set +e\n")
        self._shell.stdin.flush()
        ended = self._shell.stdout.readline().strip()
        return int(ended) if ended else self._shell.wait(PATIENCE)

    def _said(self) -> str:
        return self._answer.read_text(errors="replace")

    def close(self) -> None:
        """With all that was left running in it."""
        with suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()
        for stream in (self._shell.stdin, self._shell.stdout):
            assert stream is not None
            stream.close()


def beside_the_repository(folder: Path, *names: str) -> None:
    """Let a folder look like a checkout: what is read there is there, and what is written stays in it."""
    root = Path(__file__).parents[1]
    for name in names:
        (folder / name).symlink_to(root / name)
    assert shutil.which("curl"), "pages use it"
