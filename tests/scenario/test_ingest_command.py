"""`muster ingest` against a real server: everything once, also where it was stopped in between."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polling import PATIENCE
from servers import MUSTER, Server

EVENT = {"eventType": "PAID", "eventTime": "2024-06-10T12:00:00Z"}
ORDERED = {
    "key": "ordered",
    "graph": {
        "nodes": [{"key": name, "eventType": name, "start": name == "A"} for name in "ABC"],
        "edges": [{"from": a, "to": b, "maxLatencySec": 3600} for a, b in ("AB", "BC")],
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    try:
        found.start()
        yield found
    finally:
        found.clean_up()


def ingested(server: Server, file: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    environment = {**server.environment(), "MUSTER_CLIENT_URL": f"http://127.0.0.1:{server.port}"}
    ran = subprocess.run(
        [str(MUSTER), "ingest", str(file), "--json", *arguments],
        env=environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return ran.returncode, json.loads(ran.stdout or "{}"), ran.stderr


def written(file: Path, *lines: object) -> Path:
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return file


def test_a_file_is_sent_once_and_what_is_wrong_is_told_by_its_line(server: Server, tmp_path: Path) -> None:
    events = [{**EVENT, "correlationKey": f"k{n}"} for n in range(2_500)]
    file = written(tmp_path / "events.ndjson", *events[:10], "nonsense", {"eventType": "X"}, "", *events[10:])
    code, told, problems = ingested(server, file)
    assert code == 1
    assert told == {"taken": 2_500, "duplicates": 0, "rejected": 2, "lines": 2_503}
    assert "line 11: this is no JSON object" in problems
    assert "line 12: " in problems
    assert ingested(server, file)[1]["duplicates"] == 2_500


def test_a_person_who_looks_sees_how_far_it_is(server: Server, tmp_path: Path) -> None:
    events = [{**EVENT, "correlationKey": f"p{n}"} for n in range(2_500)]
    file = written(tmp_path / "shown.ndjson", *events)
    seen, screen = os.openpty()
    ran = subprocess.Popen(
        [str(MUSTER), "ingest", str(file), "--server", f"http://127.0.0.1:{server.port}"],
        env={**server.environment(), "TERM": "xterm", "COLUMNS": "120"},
        cwd=server.folder,
        stdout=subprocess.PIPE,
        stderr=screen,
    )
    os.close(screen)
    shown = b"".join(iter(lambda: read_from(seen), b"")).decode()
    out, _ = ran.communicate(timeout=PATIENCE)
    os.close(seen)
    assert (ran.returncode, out) == (0, b"2,500 taken, 0 were there, 0 rejected\n")
    assert "2,500 lines, " in shown
    assert " events/s" in shown
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in shown, "there is a bar"
    assert "0:00:00" in shown, "and nothing is left"


def read_from(screen: int) -> bytes:
    """What is written there next; nothing, once whoever wrote is gone."""
    try:
        return os.read(screen, 65_536)
    except OSError:
        return b""


def test_a_line_for_which_its_list_would_be_refused_is_told_by_itself(server: Server, tmp_path: Path) -> None:
    events: list[object] = [{**EVENT, "correlationKey": f"b{n}", "eventId": f"b{n}"} for n in range(40)]
    beyond = {**EVENT, "correlationKey": "b-beyond", "eventId": "beyond", "payload": {"n": 10**40}}
    file = written(tmp_path / "beyond.ndjson", *events[:20], beyond, *events[20:])
    code, told, problems = ingested(server, file)
    assert (code, told) == (1, {"taken": 40, "duplicates": 0, "rejected": 1, "lines": 41})
    assert "line 21: " in problems
    assert "is not a number that can be kept" in problems


def test_what_was_stopped_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    events = [{**EVENT, "correlationKey": f"s{n}", "eventId": f"stopped-{n}"} for n in range(1_500)]
    file = written(tmp_path / "stopped.ndjson", *events)
    left = tmp_path / ".stopped.ndjson.sent"
    left.write_text('{"name": "of another file", "offset": 7, "line": 1}')
    assert ingested(server, file)[1]["taken"] == 1_500
    assert not left.exists()
    first = len((json.dumps(events[0]) + "\n").encode())
    name = hashlib.sha256(file.read_bytes()[:65_536]).hexdigest()[:16]
    left.write_text(json.dumps({"name": name, "offset": first, "line": 1}))
    code, told, _ = ingested(server, file)
    assert (code, told["duplicates"], told["lines"]) == (0, 1_499, 1_500)
    left.write_text(json.dumps({"name": name, "offset": first, "line": 1}))
    assert ingested(server, file, "--again")[1]["duplicates"] == 1_500


def test_the_events_of_a_key_keep_their_order_however_many_are_under_way(
    server: Server, tmp_path: Path
) -> None:
    status, made = server.call("POST", "/workflows", ORDERED)
    assert status == 201, made
    types = ("A", "B", "C")
    waves = [
        {**EVENT, "eventType": type_, "workflowKey": "ordered", "correlationKey": f"o{key}"}
        for wave in range(3)
        for type_ in types
        for key in range(wave * 400, (wave + 1) * 400)
    ]
    file = written(tmp_path / "ordered.ndjson", *waves)
    code, told, problems = ingested(server, file)
    assert (code, told["taken"], problems) == (0, 3_600, "")
    status, found = server.call("GET", "/items?workflow=ordered&status=red")
    assert (status, found) == (200, {"items": [], "nextCursor": None}), "none came before its predecessor"
