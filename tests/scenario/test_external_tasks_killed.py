"""A server that is killed right after it has acknowledged a worker's answer: the answer counts, once."""

import json
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polling import poll
from servers import Server

REST = "/engine-rest/external-task"
TASK = {"id": "work", "type": "EXTERNAL_TASK", "config": {"topic": "t"}}
REST_A_WHILE = {"id": "rest", "type": "delay", "config": {"duration": 1}}
DOCUMENT = {"workflow": {"key": "w", "name": "w", "nodes": [TASK, REST_A_WHILE]}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    try:
        found.start()
        yield found
    finally:
        found.clean_up()


def said(server: Server, path: str, body: object) -> int:
    """The status of an answer that has no body."""
    url = f"http://127.0.0.1:{server.port}{path}"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def fetched(server: Server, worker: str) -> list[dict[str, Any]]:
    body = {"workerId": worker, "maxTasks": 5, "topics": [{"topicName": "t", "lockDuration": 3_600_000}]}
    _, tasks = server.call("POST", f"{REST}/fetchAndLock", body)
    assert isinstance(tasks, list)
    return tasks


def test_an_answer_survives_a_kill_and_is_not_taken_twice(server: Server) -> None:
    server.call("POST", "/api/workflow", DOCUMENT)
    _, started = server.call("POST", "/api/workflow/execute", {"key": "w"})
    assert isinstance(started, dict)
    [task] = poll(lambda: fetched(server, "ada"))
    done = {"workerId": "ada", "variables": {"n": {"value": 1}}}
    assert said(server, f"{REST}/{task['id']}/complete", done) == 204
    server.end(signal.SIGKILL)
    server.start()
    assert said(server, f"{REST}/{task['id']}/complete", done) == 404
    assert fetched(server, "bob") == []

    def ended() -> dict[str, Any] | None:
        _, found = server.call("GET", f"/api/workflow/executions/{started['executionId']}")
        assert isinstance(found, dict)
        return found if found["status"] == "COMPLETED" else None

    found = poll(ended)
    assert found["context"]["n"] == 1
    assert [(node["nodeId"], node["visit"]) for node in found["nodes"]] == [("work", 1), ("rest", 1)]


def test_a_task_that_a_worker_had_when_the_server_was_killed_is_still_that_workers(server: Server) -> None:
    server.call("POST", "/api/workflow", DOCUMENT)
    server.call("POST", "/api/workflow/execute", {"key": "w"})
    [task] = poll(lambda: fetched(server, "ada"))
    server.end(signal.SIGKILL)
    server.start()
    assert fetched(server, "bob") == []
    assert said(server, f"{REST}/{task['id']}/complete", {"workerId": "bob"}) == 400
    assert said(server, f"{REST}/{task['id']}/complete", {"workerId": "ada"}) == 204
