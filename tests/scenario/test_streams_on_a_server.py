"""Streams of events from real servers: whoever drives the execution, whatever becomes of the reader."""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from databases import Kind, fresh_database, server_of
from polling import poll
from servers import Heard, Server, Stream

ASK = {"id": "ask", "type": "APPROVAL", "config": {}}
NOTE = {"id": "note", "type": "LOG", "config": {"message": "asked"}}
ASKING = {"workflow": {"key": "asking", "name": "Asking", "nodes": [ASK, NOTE]}}
LONG_REST = {"id": "rest", "type": "delay", "config": {"duration": 1, "unit": "hours"}}
LONG = {"workflow": {"key": "long", "name": "Long", "nodes": [LONG_REST]}}


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def started(stack: ExitStack, folder: Path, **settings: str) -> Server:
    folder.mkdir()
    server = Server(folder)
    server.settings = settings
    stack.callback(server.clean_up)
    server.start()
    return server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    kind: Kind = request.param
    async with fresh_database(kind, server_of(kind, request)) as found:
        yield found


def call(server: Server, method: str, path: str, body: object = None) -> dict[str, Any]:
    status, answer = server.call(method, path, body)
    assert status < 300, answer
    assert isinstance(answer, dict)
    return answer


def execute(server: Server, document: dict[str, Any]) -> str:
    call(server, "POST", "/api/workflow", document)
    identity: str = call(server, "POST", "/api/workflow/execute", {"key": document["workflow"]["key"]})[
        "executionId"
    ]
    return identity


def events(execution: str) -> str:
    return f"/api/workflow/executions/{execution}/events"


def brief(heard: Heard) -> tuple[str, ...]:
    return (heard.event, *(heard.data[name] for name in ("nodeId", "status") if name in heard.data))


def until(stream: Iterator[Heard], *wanted: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What is heard until all of these were, in whichever order."""
    heard: list[tuple[str, ...]] = []
    for one in stream:
        heard.append(brief(one))
        if set(wanted) <= set(heard):
            return heard
    raise AssertionError(f"{wanted} not among {heard}")


def answer(server: Server) -> None:
    """Say yes to the one approval that is open."""
    [approval] = call(server, "GET", "/api/approvals?status=OPEN")["items"]
    call(server, "POST", f"/api/approvals/{approval['id']}/decide", {"decision": "approve"})


def test_an_execution_is_followed_to_its_end_and_no_further(
    servers: ExitStack, tmp_path: Path, url: str
) -> None:
    server = started(servers, tmp_path / "one", DB_URL=url)
    execution = execute(server, ASKING)
    heard = list[Heard]()
    for one in server.follow(events(execution)):
        heard.append(one)
        if brief(one) == ("execution", "WAITING"):
            answer(server)
    told = [brief(one) for one in heard]
    assert told[0][0] == "execution"
    for done in (("node", "ask", "completed"), ("node", "note", "completed"), ("execution", "COMPLETED")):
        assert told.count(done) == 1
    assert told[-1] == ("end", "COMPLETED")
    assert heard[-1].data["executionId"] == execution
    assert server.follow(events(execution), heard[-1].id).status == 204
    again = [brief(one) for one in server.follow(events(execution), heard[0].id)]
    over = [one for one in told if one[-1] in ("completed", "COMPLETED")]
    assert again == over


@pytest.mark.postgres
async def test_an_execution_is_followed_and_acted_on_where_it_is_not_driven(
    servers: ExitStack, tmp_path: Path, postgres_url: str
) -> None:
    async with fresh_database("postgres", postgres_url) as url:
        driving = started(servers, tmp_path / "driving", DB_URL=url, MUSTER_INSTANCE_ID="driving")
        other = started(
            servers, tmp_path / "other", DB_URL=url, MUSTER_INSTANCE_ID="other", MUSTER_ROLES="web"
        )
        lists = iter(other.follow("/api/stream?topics=executions"))
        execution = execute(driving, LONG)
        stream = other.follow(events(execution))
        heard = iter(stream)
        assert until(heard, ("execution", "PAUSED"), ("node", "rest", "paused"))[0][0] == "execution"
        listed = next(lists).data
        assert [(item["id"], item["key"]) for item in listed["items"]] == [(execution, "long")]

        call(other, "POST", f"/api/workflow/executions/{execution}/cancel", {"reason": "enough"})
        last = until(heard, ("execution", "CANCELLED"), ("end", "CANCELLED"))
        assert last[-1] == ("end", "CANCELLED")
        assert list(heard) == []
        while not any(item["status"] == "CANCELLED" for item in listed["items"]):
            listed = next(lists).data


def test_streams_are_bounded_free_their_place_and_end_with_the_server(
    servers: ExitStack, tmp_path: Path
) -> None:
    server = started(servers, tmp_path / "one", MUSTER_API_STREAMS="2")
    execution = execute(server, LONG)
    first, second = server.follow(events(execution)), server.follow("/api/stream?topics=executions")
    assert (first.status, second.status) == (200, 200)
    assert server.follow(events(execution)).status == 503
    first.close()
    third = waited_for(server, events(execution))
    until(iter(third), ("execution", "PAUSED"))
    assert server.end(signal.SIGTERM) == 0
    assert "end" not in [one.event for one in third]


def waited_for(server: Server, path: str) -> Stream:
    def place() -> Stream | None:
        stream = server.follow(path)
        return stream if stream.status == 200 else None

    return poll(place)


def test_readers_who_do_not_read_keep_nobody_waiting(shared: Server) -> None:
    execution = execute(shared, LONG)
    silent = [shared.follow(events(execution)) for _ in range(60)]
    assert {stream.status for stream in silent} == {200}
    assert call(shared, "GET", "/api/workflow/executions")["items"][0]["id"] == execution


def test_one_that_is_tried_again_after_its_end_is_followed_further(shared: Server) -> None:
    server = shared
    stop = {"id": "stop", "type": "FAIL", "config": {"message": "no"}}
    execution = execute(server, {"workflow": {"key": "stop", "name": "Stop", "nodes": [stop]}})
    last = list(server.follow(events(execution)))[-1]
    assert brief(last) == ("end", "FAILED")
    call(server, "POST", f"/api/workflow/executions/{execution}/retry")
    again = [brief(one) for one in server.follow(events(execution), last.id)]
    assert ("node", "stop", "failed") in again
    assert again[-1] == ("end", "FAILED")


@pytest.mark.parametrize(
    ("path", "last", "status"),
    [
        ("/api/workflow/executions/nowhere/events", None, 404),
        ("/api/stream?topics=executions", "nonsense", 400),
        ("/api/stream?topics=executions", "executions:x", 400),
        ("/api/stream?topics=executionz", None, 400),
        ("/api/stream?topics=,", None, 400),
        ("/api/stream", None, 400),
        ("/api/stream?topics=executions&x=1", None, 400),
    ],
)
def test_what_cannot_be_followed_is_refused(shared: Server, path: str, last: str | None, status: int) -> None:
    assert shared.follow(path, last).status == status


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ExitStack() as stack:
        yield started(stack, tmp_path_factory.mktemp("shared") / "one")
