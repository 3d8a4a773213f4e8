"""`muster waits`: what is parked on events, and why."""

from typing import Annotated
from urllib.parse import quote

import typer

from muster.app.cli.output import AsJson, print_json, print_rows
from muster.app.cli.server import Server, Token, call, pages

waits = typer.Typer(help="Waits for events on a running Muster.", no_args_is_help=True)

PATH = "/api/waits"
COLUMNS = ("id", "executionId", "nodeId", "status", "needs", "has", "expiresAt", "nearMisses")


@waits.command("ls")
def list_waits(
    status: Annotated[
        str | None, typer.Option(help="waiting, resuming, completed, timeout or failed.")
    ] = None,
    execution: Annotated[str | None, typer.Option(help="An execution's id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List waits for events, newest first."""
    found = pages(server, token, PATH, {"status": status, "execution": execution}, limit)
    if as_json:
        print_json(found)
        return
    rows = [
        {**each, "needs": ",".join(each["neededEvents"]), "has": ",".join(each["receivedEvents"])}
        for each in found
    ]
    print_rows(rows, COLUMNS, "Nothing waits for events.")


@waits.command("show")
def show_wait(
    id: Annotated[str, typer.Argument(metavar="ID", help="A wait's id.")],
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Say why one waits, and what came close; with `--json`, all about it."""
    found = call(server, token, "GET", f"{PATH}/{quote(id, safe='')}")
    if as_json:
        print_json(found)
        return
    typer.echo(f"{found['nodeId']} of {found['executionId']}: {found['explanation']}")
    columns = ("id", "receivedAt", "source", "reason", "event", "executionId", "correlationId")
    print_rows(found["missed"], columns, "Nothing came close.")
