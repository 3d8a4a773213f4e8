"""`muster executions` against a real server."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from polling import PATIENCE, poll
from servers import MUSTER, Server

REST = {"id": "rest", "type": "delay", "config": {"duration": 1, "unit": "hours"}}
STOP = {"id": "stop", "type": "FAIL", "config": {"message": "not today"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    try:
        found.start()
        for key, node in (("rest", REST), ("stops", STOP)):
            found.call("POST", "/api/workflow", {"workflow": {"key": key, "name": key, "nodes": [node]}})
        yield found
    finally:
        found.clean_up()


def muster(server: Server, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**server.environment(), "MUSTER_CLIENT_URL": f"http://127.0.0.1:{server.port}"}
    return subprocess.run(
        [str(MUSTER), "executions", *arguments],
        env=environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def started(server: Server, key: str) -> str:
    _, answer = server.call("POST", "/api/workflow/execute", {"key": key, "tags": ["cli"]})
    assert isinstance(answer, dict)
    identity: str = answer["executionId"]
    poll(lambda: status_of(server, identity) != "RUNNING")
    return identity


def status_of(server: Server, execution: str) -> object:
    _, whole = server.call("GET", f"/api/workflow/executions/{execution}")
    assert isinstance(whole, dict)
    return whole["status"]


def test_executions_are_listed_shown_and_acted_on(server: Server) -> None:
    execution = started(server, "rest")
    listed = muster(server, "ls", "--tag", "cli", "--status", "PAUSED")
    assert execution in listed.stdout
    assert "STATUS" in listed.stdout.splitlines()[0]
    shown = json.loads(muster(server, "show", execution, "--json").stdout)
    assert shown["waits"][0]["nodeId"] == "rest"
    ended = muster(server, "cancel", execution, "--reason", "enough")
    assert (ended.returncode, ended.stdout.split()[0]) == (0, execution)
    followed = muster(server, "events", execution)
    assert followed.returncode == 1
    assert followed.stdout.splitlines()[-1] == "ended CANCELLED: enough"


def test_what_the_server_refuses_is_a_sentence_and_an_exit_code(server: Server, tmp_path: Path) -> None:
    refused = muster(server, "pause", started(server, "stops"))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "FAILED" in refused.stderr
    assert muster(server, "show", "nowhere").returncode == 1
    away = muster(server, "ls", "--server", "http://me:hunter2@127.0.0.1:9")
    assert away.returncode == 3
    assert away.stderr.startswith("No Muster answers at 127.0.0.1:9")
    assert "hunter2" not in away.stderr
