"""`muster executions`: what runs on a server, looked at and acted on."""

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from muster.app.cli.output import FAILED, AsJson, Stop, print_json, print_rows, read_input, stop
from muster.app.cli.server import Server, Token, call, followed, pages

executions = typer.Typer(help="Executions on a running Muster.", no_args_is_help=True)

PATH = "/api/workflow/executions"
Id = Annotated[str, typer.Argument(metavar="ID", help="An execution's id.")]
Why = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit log.")]


def _path(id: str) -> str:
    return f"{PATH}/{quote(id, safe='')}"


@executions.command("ls")
def list_executions(
    status: Annotated[str | None, typer.Option(help="RUNNING, WAITING, PAUSED, FAILED …")] = None,
    workflow: Annotated[str | None, typer.Option(help="A workflow's key or id.")] = None,
    tag: Annotated[str | None, typer.Option(help="With this tag.")] = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="How a value that it is found by begins.")
    ] = None,
    since: Annotated[str | None, typer.Option("--from", help="Began then or later: an ISO time.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Began before that.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 50,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List executions, newest first."""
    given = {"status": status, "workflow": workflow, "tag": tag, "q": query, "from": since, "to": until}
    found = pages(server, token, PATH, given, limit)
    if as_json:
        print_json(found)
        return
    columns = ("id", "key", "version", "status", "currentNodeId", "startedAt", "completedAt")
    print_rows(found, columns, "There are no executions.")


@executions.command("show")
def show_execution(id: Id, server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show an execution: how it stands, its nodes, what it waits for."""
    found = call(server, token, "GET", _path(id))
    if as_json:
        print_json(found)
        return
    typer.echo(f"{found['key']} version {found['version']}: {found['status']}")
    if found["error"]:
        typer.echo(f"{found['error']['type']}: {found['error']['message']}")
    print_rows(
        found["nodes"], ("nodeId", "type", "visit", "status", "attempt", "startedAt", "completedAt"), ""
    )
    for wait in found["waits"]:
        typer.echo(f"{wait['nodeId']} is {wait['kind']} until {wait['expiresAt'] or 'it is answered'}")
    typer.echo(json.dumps(found["context"], indent=2, ensure_ascii=False))


def _act(
    action: str, id: str, body: dict[str, object], server: str | None, token: str | None, as_json: bool
) -> None:
    found = call(server, token, "POST", f"{_path(id)}/{action}", body=body)
    if as_json:
        print_json(found)
    else:
        typer.echo(f"{found.get('id') or found['executionId']} {found['status']}")


@executions.command("pause")
def pause(
    id: Id, reason: Why = "", server: Server = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Let nothing new begin in it."""
    _act("pause", id, {"reason": reason}, server, token, as_json)


@executions.command("resume")
def resume(
    id: Id,
    reason: Why = "",
    node: Annotated[str | None, typer.Option(help="The node that is in doubt.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Of a doubt: `redo`, or `done`.")] = None,
    output: Annotated[str | None, typer.Option(help="For `done`: what it came to; JSON, or @file.")] = None,
    visit: Annotated[int | None, typer.Option(min=1, help="Which visit, if several are in doubt.")] = None,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Let it go on after a pause, or say what becomes of a node that is in doubt."""
    given: dict[str, object] = {"reason": reason, "node": node, "outcome": outcome, "visit": visit}
    body = {name: value for name, value in given.items() if value is not None}
    if output is not None:
        body["output"] = _given(output, "output")
    _act("resume", id, body, server, token, as_json)


@executions.command("cancel")
def cancel(
    id: Id,
    reason: Why = "",
    compensate: Annotated[bool, typer.Option("--compensate", help="Undo what was done.")] = False,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """End it."""
    _act("cancel", id, {"reason": reason, "compensate": compensate}, server, token, as_json)


@executions.command("retry")
def retry(
    id: Id,
    reason: Why = "",
    node: Annotated[str | None, typer.Option("--from", help="The node to go on from.")] = None,
    context: Annotated[str | None, typer.Option(help="Changes to the context: JSON, or @file.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Another version to go on with.")] = None,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Try it again from where it failed, or from a node."""
    patch = None if context is None else _given(context, "context")
    given = {"reason": reason, "from": node, "context": patch, "version": version}
    body = {name: value for name, value in given.items() if value is not None}
    _act("retry", id, body, server, token, as_json)


def _given(text: str, what: str) -> object:
    """JSON as it was given, or in a file."""
    try:
        return json.loads(read_input(text[1:]) if text.startswith("@") else text)
    except ValueError:
        stop(f"The {what} is not JSON that can be read.")


@executions.command("replay")
def replay(
    id: Id, reason: Why = "", server: Server = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Start anew with what it was started with."""
    _act("replay", id, {"reason": reason}, server, token, as_json)


@executions.command("jobs")
def list_jobs(
    letters: Annotated[bool, typer.Option("--letters", help="Those on dead letters.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List bulk jobs, newest first, and how far they are."""
    path = "/api/dead-letters/bulk" if letters else f"{PATH}/bulk"
    found = call(server, token, "GET", path, {"limit": str(limit)})["items"]
    if as_json:
        print_json(found)
        return
    columns = ("id", "action", "status", "total", "done", "refused", "pending", "createdAt", "reason")
    print_rows(found, columns, "There are no bulk jobs.")


@executions.command("events")
def events(id: Id, server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Follow it to its end: one line for each change. Exits with 0 if it completes, else with 1."""
    status = ""
    for name, data, _ in followed(server, token, f"{_path(id)}/events", "end"):
        said = json.loads(data)
        status = said["status"] if name != "node" else status
        typer.echo(json.dumps({"event": name, **said}) if as_json else _line(name, said))
    if status != "COMPLETED":
        raise Stop("", FAILED)


def _line(name: str, said: dict[str, Any]) -> str:
    if name == "node":
        why = f": {said['error']['message']}" if said["error"] else ""
        return f"{said['nodeId']} {said['status']}{why}"
    if name == "end":
        why = f": {said['error']['message']}" if said["error"] else ""
        return f"ended {said['status']}{why}"
    return f"execution {said['status']}"
