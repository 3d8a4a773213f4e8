"""`muster schedules` against a real server."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from servers import MUSTER, Server

DOCUMENT = {
    "workflow": {"key": "w", "name": "w", "nodes": [{"id": "a", "type": "NOOP"}]},
    "schedule": {"scheduleType": "CRON", "cronExpression": "0 9 1 1 *", "timezone": "Asia/Kolkata"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    try:
        found.start()
        found.call("POST", "/api/workflow", DOCUMENT)
        yield found
    finally:
        found.clean_up()


def muster(server: Server, *arguments: str) -> str:
    environment = {**server.environment(), "MUSTER_CLIENT_URL": f"http://127.0.0.1:{server.port}"}
    ran = subprocess.run(
        [str(MUSTER), "schedules", *arguments],
        env=environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_schedules_are_listed_shown_switched_run_and_filled_up(server: Server) -> None:
    (found,) = json.loads(muster(server, "ls", "--workflow", "w", "--json"))
    identity = found["id"]
    assert "0 9 1 1 *" in muster(server, "ls")
    assert json.loads(muster(server, "show", identity)) == found
    assert muster(server, "next", identity, "--count", "1").strip().endswith("-01-01T09:00:00+05:30")
    assert muster(server, "off", identity).split() == [identity, "INACTIVE,", "next", "never"]
    assert "ACTIVE" in muster(server, "on", identity)
    assert "RUNNING" in muster(server, "run", identity)
    span = ("--from", "2020-01-01", "--to", "2022-12-31", "--json")
    filled = json.loads(muster(server, "backfill", identity, *span))
    assert [each["scheduledTime"][:4] for each in filled] == ["2020", "2021", "2022"]
    again = json.loads(muster(server, "backfill", identity, *span))
    assert all(each["duplicate"] for each in again)
