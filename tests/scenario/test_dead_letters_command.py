"""`muster dead-letters`, beside whatever server may be running on the database."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.app.build import opened
from muster.app.cli import main
from muster.app.settings import Settings
from muster.engine.control import Start
from muster.model.access import Caller, How, Role
from polling import PATIENCE
from scenario.test_executions_api import failing

ADA = Caller("ada", frozenset({Role.ADMIN}), None, How.LOOPBACK)


async def fail_twice(folder: Path) -> list[str]:
    async with opened(Settings.model_validate({"data-dir": folder / "data"})) as house:
        await house.library.create(failing(), ADA)
        ids = [
            (await house.control.start(Start("strict", {"good": False, "why": why}), ADA)).id for why in "ab"
        ]
        for execution in ids:
            assert (await house.control.wait(execution, ADA, PATIENCE)).status == "FAILED"
    return ids


async def finish(folder: Path, execution: str) -> str:
    async with opened(Settings.model_validate({"data-dir": folder / "data"})) as house:
        return (await house.control.wait(execution, ADA, PATIENCE)).status


def test_letters_are_listed_shown_redriven_and_dismissed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, second = asyncio.run(fail_twice(tmp_path))
    monkeypatch.chdir(tmp_path)

    def muster(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["muster", "dead-letters", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, err
        return out if code == 0 else err

    listed: list[dict[str, Any]] = json.loads(muster("ls", "--json"))
    assert [letter["key"] for letter in listed] == [second, first]
    numbers = {letter["key"]: str(letter["id"]) for letter in listed}
    assert "Failed: not good: a" in muster("ls", "--status", "open", "--source", "strict")
    assert json.loads(muster("show", numbers[first]))["value"]["nodeId"] == "stop"
    given = ["--from", "check", "--context", '{"good": true}', "--reason", "mended"]
    assert muster("redrive", numbers[first], *given) == f"{numbers[first]} is redriven (execution {first})\n"
    assert json.loads(muster("dismiss", numbers[second], "--json"))["status"] == "dismissed"
    assert "has been dealt with" in muster("redrive", numbers[first], code=1)
    assert "There is no dead letter 99" in muster("show", "99", code=1)
    assert "There is no status 'lost'" in muster("ls", "--status", "lost", code=2)
    assert asyncio.run(finish(tmp_path, first)) == "COMPLETED"
