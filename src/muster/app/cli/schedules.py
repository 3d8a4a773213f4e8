"""`muster schedules`: what starts workflows by the clock, looked at and switched."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from muster.app.cli.output import AsJson, print_json, print_rows
from muster.app.cli.server import Server, Token, call, pages

schedules = typer.Typer(help="Schedules on a running Muster.", no_args_is_help=True)

PATH = "/api/workflow/schedule"
Id = Annotated[str, typer.Argument(metavar="ID", help="A schedule's id.")]


def _path(id: str) -> str:
    return f"{PATH}/{quote(id, safe='')}"


@schedules.command("ls")
def list_schedules(
    workflow: Annotated[str | None, typer.Option(help="A workflow's key or id.")] = None,
    status: Annotated[str | None, typer.Option(help="ACTIVE or INACTIVE.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List schedules, newest first."""
    given = {"workflow": workflow, "status": status}
    found = pages(server, token, PATH, given, limit)
    if as_json:
        print_json(found)
        return
    rows = [{**each, "when": _when(each)} for each in found]
    columns = ("id", "workflowId", "when", "timezone", "status", "nextRunAt", "lastRunAt", "lastError")
    print_rows(rows, columns, "There are no schedules.")


@schedules.command("show")
def show_schedule(id: Id, server: Server = None, token: Token = None) -> None:
    """Print a schedule as JSON."""
    print_json(call(server, token, "GET", _path(id)))


@schedules.command("next")
def next_times(
    id: Id,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 5,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Print its next times, in its zone."""
    times = call(server, token, "GET", f"{_path(id)}/next", {"count": str(count)})["next"]
    if as_json:
        print_json(times)
        return
    for time in times:
        typer.echo(time)


@schedules.command("run")
def run_now(id: Id, server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Start its workflow now."""
    begun = call(server, token, "POST", f"{_path(id)}/run")
    if as_json:
        print_json(begun)
    else:
        typer.echo(f"{begun['executionId']} {begun['status']}")


@schedules.command("backfill")
def backfill(
    id: Id,
    since: Annotated[str, typer.Option("--from", help="The first time: ISO, in the schedule's zone.")],
    until: Annotated[str, typer.Option("--to", help="The last time.")],
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Start what it would have started then. What was started before is not started again."""
    body = {"from": since, "to": until}
    results = call(server, token, "POST", f"{_path(id)}/backfill", body=body)["results"]
    if as_json:
        print_json(results)
        return
    columns = ("scheduledTime", "executionId", "status", "duplicate")
    print_rows(results, columns, "It has no times in that range.")


@schedules.command("on")
def switch_on(id: Id, server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Switch it on."""
    _switch(id, "activate", server, token, as_json)


@schedules.command("off")
def switch_off(id: Id, server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Switch it off."""
    _switch(id, "deactivate", server, token, as_json)


def _switch(id: str, action: str, server: str | None, token: str | None, as_json: bool) -> None:
    found = call(server, token, "POST", f"{_path(id)}/{action}")
    if as_json:
        print_json(found)
    else:
        typer.echo(f"{found['id']} {found['status']}, next {found['nextRunAt'] or 'never'}")


def _when(found: dict[str, Any]) -> str:
    if found["cronExpression"] is not None:
        return str(found["cronExpression"])
    if found["intervalMinutes"] is not None:
        return f"every {found['intervalMinutes']} min"
    return f"day {found['dayOfMonth']} at {found['time'] or '00:00'}"
