"""`muster waits` against a real server."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from polling import PATIENCE, poll
from servers import MUSTER, Server

CALLBACK = "/api/internal/callbacks/external-service"
EVENTS = [{"name": "paid", "source": "callback"}, {"name": "sent", "source": "callback"}]
WAIT = {"id": "wait", "type": "wait_events", "config": {"events": EVENTS, "timeout": 3600}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    try:
        found.start()
        found.call("POST", "/api/workflow", {"workflow": {"key": "wait", "name": "wait", "nodes": [WAIT]}})
        yield found
    finally:
        found.clean_up()


def muster(server: Server, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**server.environment(), "MUSTER_CLIENT_URL": f"http://127.0.0.1:{server.port}"}
    return subprocess.run(
        [str(MUSTER), "waits", *arguments],
        env=environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def waiting(server: Server) -> dict[str, Any]:
    """A wait that has one of its two events, and was sent one that is nobody's."""
    server.call("POST", "/api/workflow/execute", {"key": "wait"})
    found: list[dict[str, Any]] = []

    def look() -> bool:
        _, answer = server.call("GET", "/api/waits?status=waiting")
        assert isinstance(answer, dict)
        found[:] = answer["items"]
        return bool(found)

    poll(look)
    ids = {"correlation_id": found[0]["correlationId"]}
    for execution in (found[0]["executionId"], "another"):
        body = {**ids, "execution_id": execution, "event_name": "paid"}
        server.call("POST", CALLBACK, body)
    return found[0]


def test_waits_are_listed_and_one_says_why_it_waits_and_what_came_close(server: Server) -> None:
    wait = waiting(server)
    listed = muster(server, "ls", "--status", "waiting")
    assert listed.returncode == 0, listed.stderr
    head, row = listed.stdout.splitlines()
    assert "NEEDS" in head
    assert [each in row for each in (wait["id"], wait["executionId"], "sent", "paid")] == [True] * 4
    [told] = json.loads(muster(server, "ls", "--execution", wait["executionId"], "--json").stdout)
    assert (told["neededEvents"], told["receivedEvents"]) == (["sent"], ["paid"])
    assert muster(server, "ls", "--status", "timeout").stdout.strip() == "Nothing waits for events."
    shown = muster(server, "show", wait["id"])
    assert shown.stdout.startswith(f"wait of {wait['executionId']}: It needs sent and has paid;")
    assert "EXECUTION_MISMATCH" in shown.stdout
    whole = json.loads(muster(server, "show", wait["id"], "--json").stdout)
    assert [each["reason"] for each in whole["missed"]] == ["EXECUTION_MISMATCH"]
    unknown = muster(server, "show", "nobody")
    assert unknown.returncode != 0
    assert "nobody" in unknown.stderr
