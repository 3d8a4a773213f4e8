"""`muster triggers`: what starts workflows from outside, on a server."""

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from muster.app.cli.output import AsJson, print_json, print_rows, read_input, stop
from muster.app.cli.server import Server, Token, call, pages

triggers = typer.Typer(help="Triggers on a running Muster.", no_args_is_help=True)

PATH = "/api/workflow/triggers"
Id = Annotated[str, typer.Argument(metavar="ID", help="A trigger's id.")]


def _path(id: str, action: str = "") -> str:
    return f"{PATH}/{quote(id, safe='')}{action}"


@triggers.command("ls")
def list_triggers(
    workflow: Annotated[str | None, typer.Option(help="A workflow's key or id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List triggers."""
    found = pages(server, token, PATH, {"workflow": workflow}, limit)
    if as_json:
        print_json(found)
        return
    columns = ("id", "workflowId", "type", "triggerEventName", "topic", "path", "authentication", "status")
    print_rows(found, columns, "There are no triggers.")


@triggers.command("show")
def show_trigger(id: Id, server: Server = None, token: Token = None) -> None:
    """Print a trigger as JSON."""
    print_json(call(server, token, "GET", _path(id)))


@triggers.command("create")
def create_trigger(
    workflow: Annotated[str, typer.Argument(metavar="WORKFLOW", help="A workflow's key or id.")],
    type: Annotated[str, typer.Option(help="webhook, event or alert.")] = "webhook",
    event: Annotated[str | None, typer.Option(help="The event name that fires it.")] = None,
    topic: Annotated[str | None, typer.Option(help="The topic whose messages fire it.")] = None,
    path: Annotated[str | None, typer.Option(help="Its path below /api/workflow/trigger/.")] = None,
    filter: Annotated[
        str | None, typer.Option(help="What an event's fields must be: JSON, or @file.")
    ] = None,
    condition: Annotated[str | None, typer.Option(help="An expression that must hold.")] = None,
    authentication: Annotated[str, typer.Option(help="JWT, HMAC or NONE.")] = "JWT",
    idempotency: Annotated[
        str | None, typer.Option(help="How repeats are recognised: JSON, or @file.")
    ] = None,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Make a trigger. The secret of one whose requests are signed is printed now and never again."""
    given = {
        "workflowId": workflow,
        "type": type,
        "triggerEventName": event,
        "topic": topic,
        "path": path,
        "filter": _read("--filter", filter),
        "condition": condition,
        "authentication": authentication.upper(),
        "idempotencyGenerationSetting": _read("--idempotency", idempotency),
    }
    body = {name: value for name, value in given.items() if value is not None}
    _told(call(server, token, "POST", PATH, body=body), as_json)


@triggers.command("rotate")
def rotate_secret(id: Id, server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Make a new secret and print it, this once. The one before it stays valid until it is revoked, or the
    next one is made."""
    _told(call(server, token, "POST", _path(id, "/rotate")), as_json)


@triggers.command("revoke")
def revoke_secrets(id: Id, server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Let no secret but the newest be valid."""
    _told(call(server, token, "POST", _path(id, "/revoke")), as_json)


@triggers.command("delete")
def delete_trigger(id: Id, server: Server = None, token: Token = None) -> None:
    """Remove a trigger."""
    call(server, token, "DELETE", _path(id))
    typer.echo(f"{id} is gone")


def _read(option: str, text: str | None) -> object:
    if text is None:
        return None
    try:
        return json.loads(read_input(text[1:]) if text.startswith("@") else text)
    except ValueError:
        stop(f"{option}: this is not JSON that can be read; give an object, or @ and the name of a file.")


def _told(trigger: Any, as_json: bool) -> None:  # whatever the server answers
    if as_json:
        print_json(trigger)
        return
    if "secret" in trigger:
        typer.echo(trigger["secret"])
    for warning in trigger.get("warnings", ()):
        typer.echo(warning["message"], err=True)
    secrets = f", {len(trigger['secrets'])} secret(s)" if trigger["authentication"] == "HMAC" else ""
    typer.echo(f"{trigger['id']} is {trigger['status']} ({trigger['authentication']}{secrets})", err=True)
