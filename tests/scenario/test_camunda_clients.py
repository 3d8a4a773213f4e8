"""Camunda's public clients, as they are, against a real server: they are given its address and a token."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polling import poll
from servers import Server

WORKERS = Path(__file__).parents[1] / "workers"
VARIABLES = {
    "text": "x",
    "whole": "#{amount}",
    "flag": True,
    "nothing": None,
    "half": 0.5,
    "object": {"list": [1, {"deep": "y"}]},
}
TOLD = {"text": "x", "whole": 12, "flag": True, "half": 0.5}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    try:
        found.start()
        yield found
    finally:
        found.clean_up()


@pytest.fixture(scope="module", params=["py", "js"])
def language(
    request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A worker of this language is at work."""
    status, made = server.call("POST", "/api/tokens", {"name": "worker", "roles": ["producer"]})
    assert status == 201
    assert isinstance(made, dict)
    given = [f"http://127.0.0.1:{server.port}/engine-rest", made["token"]]
    folder = tmp_path_factory.mktemp("worker")
    if request.param == "py":
        command = [sys.executable, str(WORKERS / "worker.py"), *given]
    else:
        modules: Path = request.getfixturevalue("worker_modules")
        (folder / "node_modules").symlink_to(modules)
        (folder / "worker.mjs").write_text((WORKERS / "worker.mjs").read_text())
        command = ["node", str(folder / "worker.mjs"), *given]
    with (folder / "log").open("wb") as log:
        worker = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "NODE_ENV": "test"})
    try:
        yield request.param
    finally:
        worker.kill()
        worker.wait()


def ended(server: Server, topic: str, **node: Any) -> dict[str, Any]:
    """A workflow with one task of this topic, run to its end."""
    task = {"id": "work", "type": "EXTERNAL_TASK", "config": {"topic": topic, "variables": VARIABLES}, **node}
    document = {"workflow": {"key": topic, "name": topic, "nodes": [task]}}
    assert server.call("POST", "/api/workflow", document)[0] == 201
    _, started = server.call("POST", "/api/workflow/execute", {"key": topic, "context": {"amount": 12}})
    assert isinstance(started, dict)

    def over() -> dict[str, Any] | None:
        _, found = server.call("GET", f"/api/workflow/executions/{started['executionId']}")
        assert isinstance(found, dict)
        return found if found["status"] in ("COMPLETED", "FAILED") else None

    return poll(over)


def test_a_client_completes_with_typed_variables(server: Server, language: str) -> None:
    found = ended(server, f"{language}-complete")
    assert found["status"] == "COMPLETED", found
    context = found["context"]
    told = {**TOLD, "nothing": None} if language == "py" else TOLD
    assert (context["told"], context["object"]) == (told, {"list": [1, {"deep": "y"}]})
    assert "own" not in context
    assert found["nodes"][0]["output"]["own"] == 1
    if language == "js":
        assert (context["at"], context["nothing"]) == ("2026-03-01T12:00:00Z", None)


def test_a_clients_failures_use_up_the_retries(server: Server, language: str) -> None:
    found = ended(server, f"{language}-fail")
    assert (found["status"], found["error"]["type"]) == ("FAILED", "ExternalTaskFailed")
    assert found["error"]["message"] == "no luck"


def test_a_clients_business_error_is_handled_by_the_workflow(server: Server, language: str) -> None:
    found = ended(server, f"{language}-error", onError="continue")
    assert found["status"] == "COMPLETED", found
    error = found["context"]["_error"]
    assert (error["type"], error["message"], error["details"]) == ("POOR", "no money", {"left": 3})
