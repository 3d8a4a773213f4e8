"""`muster tasks`: what is offered to workers, and who has it."""

from typing import Annotated
from urllib.parse import quote

import typer

from muster.app.cli.output import AsJson, print_json, print_rows
from muster.app.cli.server import Server, Token, call, pages

tasks = typer.Typer(help="External tasks on a running Muster.", no_args_is_help=True)

PATH = "/api/external-tasks"
COLUMNS = ("id", "topic", "status", "workerId", "lockUntil", "retries", "executionId", "nodeId")


@tasks.command("ls")
def list_tasks(
    status: Annotated[str | None, typer.Option(help="OPEN, COMPLETED, FAILED, EXPIRED or CANCELLED.")] = None,
    topic: Annotated[str | None, typer.Option(help="What workers ask for.")] = None,
    worker: Annotated[str | None, typer.Option(help="Who has it, or had it last.")] = None,
    execution: Annotated[str | None, typer.Option(help="An execution's id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List external tasks, newest first."""
    wanted = {"status": status, "topic": topic, "worker": worker, "execution": execution}
    found = pages(server, token, PATH, wanted, limit)
    if as_json:
        print_json(found)
    else:
        print_rows(found, COLUMNS, "There are no external tasks.")


@tasks.command("show")
def show_task(
    id: Annotated[str, typer.Argument(metavar="ID", help="A task's id.")],
    server: Server = None,
    token: Token = None,
) -> None:
    """Print one, with its variables and what a worker last said of it."""
    print_json(call(server, token, "GET", f"{PATH}/{quote(id, safe='')}"))
