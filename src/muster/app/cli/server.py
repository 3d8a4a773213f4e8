"""Talking to a running Muster: where it is, who asks, and what its refusals mean for a command."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.app.cli.output import FAILED, UNAVAILABLE, stop

if TYPE_CHECKING:
    import httpx

Server = Annotated[str | None, typer.Option(help="Where Muster is; else `client.url`, or this machine.")]
Token = Annotated[str | None, typer.Option(help="An API token; else `client.token`.")]
SECONDS = 30.0
_PAGE = 200


def call(
    server: str | None,
    token: str | None,
    method: str,
    path: str,
    params: Mapping[str, str] | None = None,
    body: object = None,
) -> Any:  # whatever JSON the server answers
    """The server's answer; None if it has nothing to say. What it refuses ends the command with its
    sentence."""
    with connected(server, token) as client:
        answer = client.request(method, path, params=params, json=body)
    check_answer(answer)
    return answer.json() if answer.content else None


def pages(
    server: str | None, token: str | None, path: str, wanted: Mapping[str, str | None], most: int
) -> list[Any]:  # whatever the server lists
    """What a list of the server's has, page after page, at most so many. What is None is not asked for."""
    asked = {name: value for name, value in wanted.items() if value is not None}
    found: list[Any] = []
    while True:
        asked["limit"] = str(min(_PAGE, most - len(found)))
        answer = call(server, token, "GET", path, asked)
        found += answer["items"]
        if answer["nextCursor"] is None or len(found) >= most:
            return found
        asked["cursor"] = answer["nextCursor"]


def followed(server: str | None, token: str | None, path: str, last: str) -> Iterator[tuple[str, str, str]]:
    """A stream's events, as name, data and id, until the event of this name. Where the server ends the stream
    before that, it is taken up again."""
    name = place = ""
    while name != last:
        headers = {"Last-Event-ID": place} if place else {}
        with (
            connected(server, token) as client,
            client.stream("GET", path, headers=headers, timeout=None) as answer,
        ):
            if answer.status_code >= 400:
                answer.read()
            check_answer(answer)
            if answer.status_code == 204:
                return
            for name, data, place in _events(answer.iter_lines()):
                yield name, data, place
        if name != last:
            time.sleep(1.0)


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str, str]]:
    fields = {"id": "", "event": ""}
    for line in lines:
        name, _, value = line.partition(": ")
        if name in fields:
            fields[name] = value
        elif name == "data":
            yield fields["event"], value, fields["id"]


@contextmanager
def connected(server: str | None, token: str | None) -> "Iterator[httpx.Client]":
    import httpx

    from muster.app.cli.opening import loaded_settings

    settings = loaded_settings({}).settings
    url = server or settings.client.url or f"http://127.0.0.1:{settings.port}"
    secret = settings.client.token
    given = token or (secret.get_secret_value() if secret else None)
    headers = {"Authorization": f"Bearer {given}"} if given else {}
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=SECONDS) as client:
            yield client
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # Without what stands before an @: it may be somebody's password.
        place = url.rpartition("@")[2]
        stop(f"No Muster answers at {place}: {type(error).__name__}. Is it running?", UNAVAILABLE)


def check_answer(answer: "httpx.Response") -> None:
    if answer.status_code < 400:
        return
    try:
        problem = answer.json()
        told = " ".join([problem["detail"], *(error["message"] for error in problem.get("errors", [])[1:])])
    except (ValueError, KeyError, TypeError):
        told = f"The server answers {answer.status_code}."
    stop(told, UNAVAILABLE if answer.status_code >= 500 else FAILED)
