"""`muster dead-letters`, beside whatever server may be running on the database."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

from muster.app.build import opened
from muster.app.settings import Settings
from muster.engine.control import Start
from muster.model.access import Caller, How, Role
from muster_command import Muster
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


def test_letters_are_listed_shown_redriven_and_dismissed(muster: Muster) -> None:
    first, second = asyncio.run(fail_twice(muster.folder))
    letters = partial(muster.says, "dead-letters")
    listed: list[dict[str, Any]] = json.loads(letters("ls", "--json"))
    assert [letter["key"] for letter in listed] == [second, first]
    numbers = {letter["key"]: str(letter["id"]) for letter in listed}
    assert "Failed: not good: a" in letters("ls", "--status", "open", "--source", "strict")
    assert json.loads(letters("show", numbers[first]))["value"]["nodeId"] == "stop"
    given = ["--from", "check", "--context", '{"good": true}', "--reason", "mended"]
    assert letters("redrive", numbers[first], *given) == f"{numbers[first]} is redriven (execution {first})\n"
    assert json.loads(letters("dismiss", numbers[second], "--json"))["status"] == "dismissed"
    assert "has been dealt with" in letters("redrive", numbers[first], code=1)
    assert "There is no dead letter 99" in letters("show", "99", code=1)
    assert "There is no status 'lost'" in letters("ls", "--status", "lost", code=2)
    assert asyncio.run(finish(muster.folder, first)) == "COMPLETED"
