"""`muster publish`: a message to a topic, by way of a server."""

from typing import Annotated
from urllib.parse import quote

import typer

from muster.app.cli.output import AsJson, print_json, read_input, stop
from muster.app.cli.server import Server, Token, call


def publish(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.")],
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="Any JSON, @file, or - for what is piped in.")
    ],
    key: Annotated[str | None, typer.Option(help="What its partition depends on.")] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header; may be given several times.")
    ] = None,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Publish a message on the bus of a running Muster."""
    pairs = [each.partition("=") for each in header or []]
    if wrong := [name for name, sign, _ in pairs if not sign or not name]:
        stop(f"A header is NAME=VALUE: {wrong[0]!r} is not.")
    body = {"key": key, "headers": {name: text for name, _, text in pairs}, "value": _json(value)}
    put = call(server, token, "POST", f"/api/messages/{quote(topic, safe='')}", body=body)
    if as_json:
        print_json(put)
    else:
        typer.echo(f"{put['topic']}/{put['partition']}/{put['offset']}")


def _json(text: str) -> object:
    from muster.definitions.jsontext import read_json
    from muster.model.problems import AuthorError

    raw = read_input(text[1:]) if text.startswith("@") else read_input("-") if text == "-" else text
    try:
        return read_json(raw)
    except AuthorError as error:
        stop(f"The value is no JSON: {error}")
