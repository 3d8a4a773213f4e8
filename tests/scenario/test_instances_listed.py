"""`GET /api/instances`, `muster instances` and the metric, against real servers."""

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from databases import fresh_database
from polling import poll
from servers import MUSTER, Server


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    async with fresh_database("postgres", postgres_url) as found:
        yield found


@pytest.fixture
def servers(tmp_path: Path, url: str) -> Iterator[list[Server]]:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made.append(Server(tmp_path / name))
        made[-1].settings = {"DB_URL": url, "INSTANCE_ID": name, "MUSTER_LOG_FORMAT": "json"}
    made[1].settings["MUSTER_ROLES"] = "engine,publisher"
    yield made
    for server in made:
        server.clean_up()


def listed(server: Server) -> list[dict[str, object]]:
    status, answer = server.call("GET", "/api/instances")
    assert status == 200
    assert isinstance(answer, dict)
    assert answer["nextCursor"] is None
    return list(answer["items"])


def command(server: Server, *arguments: str) -> str:
    environment = {**server.environment(), "MUSTER_CLIENT_URL": f"http://127.0.0.1:{server.port}"}
    return subprocess.run(
        [str(MUSTER), "instances", *arguments],
        env=environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.postgres
def test_instances_come_and_go_in_the_list_the_command_and_the_metric(servers: list[Server]) -> None:
    one, two = servers
    one.start()
    two.start()
    found = poll(lambda: len(listed(one)) == 2 and listed(one))
    assert isinstance(found, list)
    assert [(each["name"], each["status"]) for each in found] == [("one", "live"), ("two", "live")]
    assert found[1]["roles"] == ["engine", "publisher"]
    assert two.process is not None
    assert found[1]["pid"] == two.process.pid
    assert json.loads(command(one, "--json"))[1]["incarnation"] == found[1]["incarnation"]
    head, *lines = command(one).splitlines()
    assert head.split()[:4] == ["NAME", "STATUS", "ROLES", "DRIVING"]
    assert [line.split()[:3] for line in lines][1] == ["two", "live", "engine,publisher"]
    poll(lambda: metric(one) == 2)
    assert two.end(signal.SIGTERM) == 0
    assert [each["name"] for each in listed(one)] == ["one"], "it has said goodbye"
    before = found[0]["incarnation"]
    one.end(signal.SIGKILL)
    one.start()
    again = poll(lambda: [each for each in listed(one) if each["incarnation"] != before])
    assert [each["name"] for each in again] == ["one"]
    assert len(listed(one)) == 1, "its earlier start is no more"


def metric(server: Server) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        found = re.search(r'^muster_instances\{status="live"\} (\d+)', answer.read().decode(), re.MULTILINE)
    return int(found[1]) if found else 0
