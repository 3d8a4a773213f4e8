"""`muster commands`: what executions have sent, and what came back."""

from typing import Annotated
from urllib.parse import quote

import typer

from muster.app.cli.output import AsJson, print_json, print_rows
from muster.app.cli.server import Server, Token, call, pages

commands = typer.Typer(help="Commands on a running Muster, and their replies.", no_args_is_help=True)

PATH = "/api/commands"
COLUMNS = (
    "id",
    "workflowInstanceId",
    "stepId",
    "attempt",
    "commandTopic",
    "status",
    "sentAt",
    "errorMessage",
)


@commands.command("ls")
def list_commands(
    status: Annotated[
        str | None, typer.Option(help="PENDING, SENT, REPLY_RECEIVED, TIMEOUT, ERROR or CANCELLED.")
    ] = None,
    execution: Annotated[str | None, typer.Option(help="An execution's id.")] = None,
    topic: Annotated[str | None, typer.Option(help="The topic that they are sent to.")] = None,
    correlation: Annotated[str | None, typer.Option(help="A correlation id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List commands, newest first."""
    wanted = {"status": status, "execution": execution, "topic": topic, "correlation": correlation}
    found = pages(server, token, PATH, wanted, limit)
    if as_json:
        print_json(found)
    else:
        print_rows(found, COLUMNS, "No commands.")


@commands.command("show")
def show_command(
    id: Annotated[str, typer.Argument(metavar="ID", help="A command's id.")],
    server: Server = None,
    token: Token = None,
) -> None:
    """Print all about one: what was sent, and what came back."""
    print_json(call(server, token, "GET", f"{PATH}/{quote(id, safe='')}"))
