"""`muster instances`: who is there, as a running Muster knows it."""

from datetime import datetime

from muster.app.cli.output import AsJson, print_json, print_rows
from muster.app.cli.server import Server, Token, pages

MOST = 100_000
COLUMNS = ("name", "status", "roles", "driving", "host", "pid", "version", "startedAt", "heartbeatAt")


def instances(server: Server = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the instances on the database of a running Muster, by their names."""
    found = pages(server, token, "/api/instances", {}, MOST)
    if as_json:
        print_json(found)
        return
    print_rows([_row(each) for each in found], COLUMNS, "There are no instances.")


def _row(found: dict[str, object]) -> dict[str, object]:
    roles = found["roles"]
    assert isinstance(roles, list)
    times = {name: _to_the_second(str(found[name])) for name in ("startedAt", "heartbeatAt")}
    return {**found, "roles": ",".join(roles), **times}


def _to_the_second(time: str) -> str:
    return datetime.fromisoformat(time).isoformat(timespec="seconds")
