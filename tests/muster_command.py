"""The command line, for tests that go by what it prints and how it ends."""

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.app.cli import main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


class Muster:
    """Runs commands in this process, in a folder of their own, with no settings but those given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path):
        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.chdir(folder)
        for name in [name for name in os.environ if name.startswith(("MUSTER_", "DB_", "OIDC_", "KAFKA_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("TERM", "dumb")

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Ended:
        self.monkeypatch.setattr(sys, "argv", ["muster", *arguments])
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err
        return Ended(int(ended.value.code or 0), out, err)

    def says(self, *arguments: str, code: int = 0) -> str:
        """What is printed by a command that ends so; where it fails, what it has against it, too."""
        ended = self(*arguments)
        assert ended.code == code, ended.err
        return ended.out if code == 0 else ended.out + ended.err

    def write(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name
