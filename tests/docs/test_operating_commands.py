"""The commands that operators are told of in passing, in the operating guide and the runbooks, are typed here
at a server that has something of everything; and whatever call a page names, a server knows."""

import os
import re
import shlex
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from furnished import Things, furnished
from muster_command import Muster
from polling import poll
from servers import Server
from shown_blocks import FENCE, PAGES, ROOT

GUIDES = ("docs/operating.md", "docs/runbooks.md")
PREFIX = "guided"
# Typed elsewhere, since they need something else than a server with something in it.
ELSEWHERE = {
    "muster backup": "tests/scenario/test_backups.py",
    "muster conformance": "tests/scenario/test_conformance_command.py",
    "muster outbox renew STREAM --reason …": "tests/scenario/test_stopped_streams_api.py",
}


def told() -> list[str]:
    text = "".join(FENCE.sub("", (ROOT / page).read_text()) for page in GUIDES)
    return sorted(set(re.findall(r"`(muster [a-z][^`]*)`", text)))


TYPED = [line for line in told() if line not in ELSEWHERE and not line.startswith("muster serve")]


def test_what_is_typed_elsewhere_is_told_of_still_and_there() -> None:
    assert ELSEWHERE.keys() <= set(told())
    for line, place in ELSEWHERE.items():
        words = line.split()[1:3]
        assert words[0] in (ROOT / place).read_text(), line
    assert len(TYPED) > 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    found.settings = {"MUSTER_SECRET_KEY": b64encode(bytes(32)).decode()}
    try:
        found.start()
        yield found
    finally:
        found.clean_up()


@pytest.fixture(scope="module")
def things(server: Server) -> Things:
    return furnished(f"http://127.0.0.1:{server.port}", {}, "guide", PREFIX)


def failed(server: Server) -> str:
    """An execution that has failed, and nobody has looked at."""
    status, started = server.call("POST", "/api/workflow/execute", {"key": f"{PREFIX}-failing"})
    assert status == 202
    assert isinstance(started, dict)
    path = f"/api/workflow/executions/{started['executionId']}"
    poll(lambda: "FAILED" in str(server.call("GET", path)[1]))
    return str(started["executionId"])


def words_of(line: str, server: Server, things: Things) -> list[str]:
    """With what a reader has in the place of ID, TOPIC and …"""
    _, group, *rest = shlex.split(line)
    paths = {"waits": "/api/waits/{id}", "dead-letters": "/api/dead-letters/{id}"}
    path = paths.get(group, "/api/workflow/executions/{id}")
    own = failed(server) if "retry" in rest else str(things.ids[path]["id"])
    instead = {"ID": own, "TOPIC": f"{PREFIX}-commands", "…": "as the guide says"}
    return [group, *(instead.get(word, word) for word in rest)]


@pytest.mark.parametrize("line", TYPED)
def test_a_command_that_operators_are_told_of_does_its_work(
    line: str,
    server: Server,
    things: Things,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    words = words_of(line, server, things)
    muster = Muster(monkeypatch, capsys, tmp_path)
    settings = {**server.settings, "MUSTER_PORT": str(server.port), "MUSTER_DATA_DIR": str(server.folder)}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    ended = muster(*words)
    assert ended.code == 0, ended.err + ended.out
    assert ended.out or os.listdir(tmp_path)


def test_an_instance_with_a_role_that_the_guide_names_starts(tmp_path: Path) -> None:
    [line] = [line for line in told() if line.startswith("muster serve")]
    server = Server(tmp_path)
    server.settings = {"MUSTER_ROLES": line.split()[-1]}
    try:
        server.start()
    finally:
        server.clean_up()


def test_whatever_call_a_page_names_a_server_knows(made: dict[str, str]) -> None:
    calls = re.findall(r"^\| `([A-Z]+ [^`]+)`", made["reference-endpoints"], re.M)
    known = [re.compile(re.sub(r"\\\{.*?\\\}", ".+", re.escape(call))) for call in calls]
    named = {
        (page.name, call)
        for page in PAGES
        if page.name != "CHANGELOG.md"  # where names may be those of their time
        for call in re.findall(r"`((?:GET|POST|PUT|DELETE|PATCH) /[^`\s]*)`", page.read_text())
    }
    assert len(named) > 50

    def is_known(call: str) -> bool:
        # One page is about what is below an address that it names first; and several may be named at once.
        below = call.replace(" /", " /engine-rest/external-task/", 1)
        stem, _, ends = call.rpartition("/")
        ways = [f"{stem}/{end}" for end in ends.split("|")]
        return any(each.fullmatch(below) for each in known) or all(
            any(each.fullmatch(way) for each in known) for way in ways
        )

    unknown = [each for each in named if "…" not in each[1] and not is_known(each[1].partition("?")[0])]
    assert unknown == []
