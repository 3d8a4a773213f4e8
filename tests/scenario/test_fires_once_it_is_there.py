"""Whoever begins to watch says so before anything is missed: until then nobody knows what came meanwhile."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from muster.app.build import opened
from muster.app.settings import Settings
from muster.store.watch_due import DueExpectations
from muster.store.watch_presence import WatchPresence
from polling import until

TURNS = 200


async def test_nothing_is_missed_before_it_is_said_that_somebody_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    happened: list[str] = []
    beat, fire = WatchPresence.beat, DueExpectations.fire

    async def slow_to_speak(self: WatchPresence) -> Any:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        said = await beat(self)
        happened.append("said")
        return said

    async def looked(self: DueExpectations, most: int) -> int:
        happened.append("looked")
        return await fire(self, most)

    async def has_looked() -> bool:
        return "looked" in happened

    monkeypatch.setattr(WatchPresence, "beat", slow_to_speak)
    monkeypatch.setattr(DueExpectations, "fire", looked)
    async with opened(Settings.model_validate({"data_dir": str(tmp_path)})):
        await until(has_looked)
    assert happened[0] == "said"
