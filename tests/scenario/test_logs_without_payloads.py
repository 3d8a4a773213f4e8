"""What is sent in is in no line of the log: contexts, events, messages, callbacks, secrets."""

import json
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from furnished import furnished
from polling import PATIENCE
from servers import MUSTER, Server

MARK = "acmesmarkofitsown"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    found.settings = {"MUSTER_LOG_LEVEL": "debug", "MUSTER_SECRET_KEY": b64encode(bytes(32)).decode()}
    found.start()
    yield found
    found.clean_up()


def test_no_line_has_anything_of_what_was_sent(server: Server) -> None:
    load = [str(MUSTER), "demo", "load", "--data-dir", str(server.folder)]
    subprocess.run(load, env=server.environment(), capture_output=True, check=True, timeout=PATIENCE)
    furnished(f"http://127.0.0.1:{server.port}", {}, MARK, "acme")
    ended = []
    listed = server.call("GET", "/api/workflow")[1]
    for workflow in listed["items"]:  # type: ignore[index,call-overload]  # an object, with a list
        if not workflow["key"].startswith("acme-"):
            body = {"key": workflow["key"], "context": {"said": MARK}}
            answer = server.call("POST", "/api/workflow/execute?wait=20", body)[1]
            ended.append(answer["status"])  # type: ignore[index]  # an object
    assert ended.count("COMPLETED") >= 2, ended
    refused = {"eventId": MARK, "sourceSystem": MARK, "eventType": [MARK], "payload": {"said": MARK}}
    assert server.call("POST", "/ingest", refused)[0] == 400
    assert server.call("POST", "/api/workflow", {"workflow": {"name": MARK, "nodes": [MARK]}})[0] == 422
    lines = (server.folder / "log").read_text().splitlines()
    assert [line for line in lines if MARK in line] == []
    levels = {json.loads(line)["level"] for line in lines}
    assert "debug" in levels, "nothing was left out"


def test_a_log_nodes_message_is_a_line_with_its_ids_and_nothing_else_of_the_context(server: Server) -> None:
    says = {"message": "Order #{order} came", "level": "warning"}
    nodes = [{"id": "told", "type": "LOG", "config": says}]
    workflow = {"name": "telling", "key": "telling", "nodes": nodes}
    status, answer = server.call("POST", "/api/workflow", {"workflow": workflow})
    assert status == 201, answer
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    ended = httpx.post(
        f"http://127.0.0.1:{server.port}/api/workflow/execute?wait=20",
        json={"key": "telling", "context": {"order": "o-7", "said": MARK}},
        headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"},
        timeout=PATIENCE,
    ).json()
    assert ended["status"] == "COMPLETED", ended
    written = (server.folder / "log").read_text()
    assert MARK not in written
    (line,) = [each for each in map(json.loads, written.splitlines()) if each["event"] == "Order o-7 came"]
    assert (line["level"], line["node_id"], line["trace_id"]) == ("warning", "told", trace)
    assert line["execution_id"] == ended["executionId"]
