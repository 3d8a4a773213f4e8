"""Definitions that are large, but not too large."""

import json
import threading
from pathlib import Path

import httpx
import pytest

from muster.app.build import opened
from muster.app.settings import Settings
from muster.definitions import text
from muster.model.json import Json


def settings(folder: Path, limit: int) -> Settings:
    return Settings.model_validate({"data-dir": folder, "api": {"body-limit": limit}})


def definition(message: str) -> dict[str, Json]:
    return {"name": "Large", "nodes": [{"type": "LOG", "configJson": json.dumps({"message": message})}]}


async def test_a_definition_may_be_as_long_as_a_body(tmp_path: Path) -> None:
    async with opened(settings(tmp_path, 4 * 1024 * 1024)) as house:
        transport = httpx.ASGITransport(house.api, client=("127.0.0.1", 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.post("/api/workflow/validate", json=definition("x" * 2_000_000))
    assert (answer.status_code, answer.json()["errors"]) == (200, [])


async def test_a_large_body_is_read_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, ran_on = text.read, []

    def noting(*given: object) -> Json:
        ran_on.append(threading.current_thread() is threading.main_thread())
        return read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(text, "read", noting)
    async with opened(settings(tmp_path, 1024 * 1024)) as house:
        transport = httpx.ASGITransport(house.api, client=("127.0.0.1", 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            for length in (1_000, 100_000):
                await client.post("/api/workflow/validate", json=definition("x" * length))
    assert ran_on == [True, False]
