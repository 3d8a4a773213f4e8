"""Commands that list what a real server has, page after page, up to as many as are wanted."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from polling import PATIENCE, poll
from servers import MUSTER, Server

DAILY = [{"scheduleType": "CRON", "cronExpression": f"{minute} 9 * * *"} for minute in range(3)]
DOCUMENT = {
    "workflow": {"key": "w", "name": "w", "nodes": [{"id": "a", "type": "NOOP"}]},
    "schedule": DAILY,
}
SENDS = {"commandTopic": "commands", "replyTopic": "replies", "command": {"type": "DO"}}
PAGE = 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    try:
        found.start()
        found.call("POST", "/api/workflow", DOCUMENT)
        for path in ("one", "two", "three"):
            found.call("POST", "/api/workflow/triggers", {"workflowId": "w", "path": path})
        found.call("POST", "/api/workflow/execute/batch", [{"key": "w"}] * (PAGE + 5))  # and one below
        sending = {"key": "c", "name": "c", "nodes": [{"id": "a", "type": "KAFKA_COMMAND", "config": SENDS}]}
        found.call("POST", "/api/workflow", {"workflow": sending})
        found.call("POST", "/api/workflow/execute?wait=0.1", {"key": "c"})
        yield found
    finally:
        found.clean_up()


def listed(server: Server, what: str, *arguments: str) -> list[str]:
    """The ids that the command lists."""
    found = ran(server, what, "ls", "--json", *arguments)
    assert found.returncode == 0, found.stderr
    return [each["id"] for each in json.loads(found.stdout)]


def ran(server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**server.environment(), "MUSTER_CLIENT_URL": f"http://127.0.0.1:{server.port}"}
    return subprocess.run(
        [str(MUSTER), *arguments],
        env=environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("what", ["schedules", "triggers"])
def test_as_many_are_listed_as_are_wanted(server: Server, what: str) -> None:
    every = listed(server, what, "--workflow", "w")
    assert len(set(every)) == 3
    assert listed(server, what, "--limit", "2") == every[:2]


def test_more_are_listed_than_a_page_has(server: Server) -> None:
    every = listed(server, "executions", "--limit", "1000")
    assert len(set(every)) == len(every) == PAGE + 6
    assert listed(server, "executions", "--limit", str(PAGE + 1)) == every[: PAGE + 1]


def test_a_command_is_listed_and_shown(server: Server) -> None:
    def one() -> list[str]:
        return listed(server, "commands", "--topic", "commands")

    [command] = poll(one)
    environment = {**server.environment(), "MUSTER_CLIENT_URL": f"http://127.0.0.1:{server.port}"}
    shown = subprocess.run(
        [str(MUSTER), "commands", "show", command],
        env=environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert json.loads(shown.stdout)["commandPayload"] == {"type": "DO"}
    assert listed(server, "commands", "--status", "TIMEOUT") == []


def test_streams_of_the_outbox_are_shown_and_one_that_goes_on_is_not_renewed(server: Server) -> None:
    assert len(listed(server, "outbox", "--topic", "commands")) == 1
    shown = ran(server, "outbox", "streams", "--json")
    assert [each["stream"] for each in json.loads(shown.stdout)] == ["executions", "watch"]
    refused = ran(server, "outbox", "renew", "executions", "--reason", "why not")
    assert refused.returncode != 0
    assert "has not stopped" in refused.stderr
