"""`muster outbox`: messages on their way to the bus, and the streams that they go by."""

from typing import Annotated
from urllib.parse import quote

import typer

from muster.app.cli.output import AsJson, print_json, print_rows
from muster.app.cli.server import Server, Token, call, pages

outbox = typer.Typer(help="Messages on their way from a running Muster to the bus.", no_args_is_help=True)

PATH = "/api/outbox"
COLUMNS = ("id", "stream", "seq", "topic", "status", "createdAt", "publishedAt", "error")
STREAM_COLUMNS = ("stream", "pending", "oldest", "publishedSeq", "owner", "problem")


@outbox.command("ls")
def list_messages(
    stream: Annotated[str | None, typer.Option(help="executions or watch.")] = None,
    status: Annotated[str | None, typer.Option(help="pending, published or refused.")] = None,
    topic: Annotated[str | None, typer.Option(help="The topic that they go to.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List messages, newest first."""
    found = pages(server, token, PATH, {"stream": stream, "status": status, "topic": topic}, limit)
    if as_json:
        print_json(found)
    else:
        print_rows(found, COLUMNS, "No messages.")


@outbox.command("streams")
def list_streams(server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show how streams stand, and why one has stopped."""
    found = call(server, token, "GET", f"{PATH}/streams")["items"]
    if as_json:
        print_json(found)
    else:
        print_rows(found, STREAM_COLUMNS, "No streams.")


@outbox.command("renew")
def renew_stream(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="One that has stopped.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit log.")] = "",
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Let a stream begin anew that stopped: all that waits is published, whatever the bus has."""
    path = f"{PATH}/streams/{quote(stream, safe='')}/renew"
    state = call(server, token, "POST", path, body={"reason": reason})
    if as_json:
        print_json(state)
    else:
        typer.echo(f"{state['stream']} begins anew with {state['pending']} messages")
