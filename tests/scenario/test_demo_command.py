"""`muster demo load`: the real command, beside a real server or before there is one."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from databases import Kind, fresh_database, server_of
from muster.app.build import opened
from muster.app.serve import welcome
from muster.app.settings import Settings
from polling import PATIENCE
from servers import Server

MUSTER = Path(sys.executable).with_name("muster")
KEYS = [
    "student-enrollment-workflow",
    "subscription-renewal-workflow",
    "multi-channel-notification",
    "wf_123",
]


def environment(**settings: str) -> dict[str, str]:
    ours = ("MUSTER_", "DB_", "OIDC_", "KAFKA_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | settings


def demo_load(folder: Path, *more: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    command = [str(MUSTER), "demo", "load", "--data-dir", str(folder), *more]
    given = environment(**settings)
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a `muster serve` on an empty folder."""
    found = Server(tmp_path)
    try:
        found.start()
        yield f"http://127.0.0.1:{found.port}"
        assert found.end(signal.SIGTERM) == 0
    finally:
        found.clean_up()


def executed(url: str, key: str) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{url}/api/workflow/execute?wait=60",
        json.dumps({"key": key}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=90) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def test_loaded_beside_a_server_every_workflow_completes(server: str, tmp_path: Path) -> None:
    done = demo_load(tmp_path)
    assert done.returncode == 0, done.stderr
    assert [executed(server, key)["status"] for key in KEYS] == ["COMPLETED"] * 4
    for key in KEYS:
        assert f"made workflow {key}" in done.stdout
        assert f'-d \'{{"key": "{key}"}}\'' in done.stdout
    assert "subscription-renewal-workflow and wf_123 are started by the clock" in done.stdout
    again = demo_load(tmp_path)
    assert "nothing was changed" in again.stdout


@pytest.mark.parametrize(
    "kind",
    [
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ],
)
async def test_loaded_first_it_makes_the_database_too(
    kind: Kind, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with fresh_database(kind, server_of(kind, request)) as url:
        done = demo_load(tmp_path, "--json", DB_URL=url)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["workflows"] == KEYS
        assert len(answer["made"]) == 12
        settings = Settings.model_validate({"data_dir": str(tmp_path), "database": {"url": url}})
        async with (
            opened(settings) as house,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1:8080"
            ) as client,
        ):
            for key in KEYS:
                ended = await client.post("/api/workflow/execute?wait=60", json={"key": key})
                assert ended.json()["status"] == "COMPLETED", ended.text


def test_what_cannot_be_opened_is_said_in_a_sentence(tmp_path: Path) -> None:
    refused = demo_load(tmp_path, DB_URL="postgresql://nobody@127.0.0.1:1/none")
    assert refused.returncode == 3
    assert "Traceback" not in refused.stderr
    assert "cannot be" in refused.stderr


def test_the_welcome_says_how_to_load_it(tmp_path: Path) -> None:
    assert "muster demo load\n" in welcome("http://127.0.0.1:8080", Settings())
    elsewhere = welcome("http://127.0.0.1:8080", Settings.model_validate({"data_dir": "/srv/my data"}))
    assert "muster demo load --data-dir '/srv/my data'" in elsewhere
