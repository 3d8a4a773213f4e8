"""A bulk job under `kill -9`, in a real server."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polling import poll
from scenario.test_executions_api import resting
from servers import Server

COUNT = 120


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    yield found
    found.clean_up()


def call(server: Server, method: str, path: str, body: object = None) -> dict[str, Any]:
    status, found = server.call(method, path, body)
    assert status < 300, found
    assert isinstance(found, dict)
    return found


def everything(server: Server, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = call(server, "GET", f"{path}?limit=200{cursor}")
        found += page["items"]
        if page["nextCursor"] is None:
            return found
        cursor = f"&cursor={page['nextCursor']}"


def test_a_job_goes_on_after_its_server_was_killed_and_repeats_nothing(server: Server) -> None:
    server.start()
    call(server, "POST", "/api/workflow", resting(3600))
    for _ in range(COUNT):
        call(server, "POST", "/api/workflow/execute", {"key": "rest"})
    order = {"action": "replay", "filter": {"workflow": "rest"}, "reason": "once more"}
    taken = call(server, "POST", "/api/workflow/executions/bulk", order)
    server.end(signal.SIGKILL)
    server.start()
    path = f"/api/workflow/executions/bulk/{taken['jobId']}"
    poll(lambda: call(server, "GET", path)["status"] != "running")
    job = call(server, "GET", path)
    assert (taken["total"], job["done"], job["refused"]) == (COUNT, COUNT, 0)
    executions = {row["id"] for row in everything(server, "/api/workflow/executions")}
    replayed = [item["result"]["executionId"] for item in everything(server, f"{path}/items")]
    assert len(executions) == 2 * COUNT
    assert len(set(replayed)) == COUNT
    assert set(replayed) <= executions
