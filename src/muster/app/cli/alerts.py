"""`muster alerts`: what is late, missing or out of order, looked at and dealt with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, AsJson, print_json, print_rows, run, stop

if TYPE_CHECKING:
    from datetime import datetime

    from muster.model.access import Caller
    from muster.model.json import JsonObject
    from muster.watch.alert_book import Alert, Alerts

alerts = typer.Typer(help="What is late, missing or out of order.", no_args_is_help=True)

_PAGE = 200

Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="An alert's number.")]
Why = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit log.")]


@alerts.command("ls")
def list_alerts(
    state: Annotated[str | None, typer.Option(help="open, ack, suppressed or resolved; else all.")] = None,
    severity: Annotated[str | None, typer.Option(help="amber or red; else all.")] = None,
    workflow: Annotated[str | None, typer.Option(help="A workflow's key.")] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Part of a correlation key.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    as_json: AsJson = False,
) -> None:
    """List alerts, newest first."""
    found = run(_list(state, severity, workflow, query, limit))
    if as_json:
        print_json([_json(alert) for alert in found])
    else:
        columns = ("id", "workflow", "node", "key", "severity", "reason", "state", "count", "lastTriggeredAt")
        print_rows([_row(alert) for alert in found], columns, "There are no alerts.")


async def _list(
    state: str | None, severity: str | None, workflow: str | None, query: str | None, limit: int
) -> "list[Alert]":
    from muster.model.stored import Page
    from muster.model.watching import AlertState, Severity
    from muster.watch.alert_book import WantedAlerts

    if state is not None and state not in list(AlertState):
        stop(f"There is no state {state!r}; there are {', '.join(AlertState)}.")
    if severity is not None and severity not in list(Severity):
        stop(f"There is no severity {severity!r}; there are {', '.join(Severity)}.")
    wanted = WantedAlerts(
        AlertState(state) if state else None, Severity(severity) if severity else None, workflow, query
    )
    found: list[Alert] = []
    cursor: str | None = None
    async with _opened() as book:
        while True:
            rows, cursor = await book.list(_caller(), wanted, Page(min(_PAGE, limit - len(found)), cursor))
            found.extend(rows)
            if cursor is None or len(found) >= limit:
                return found


@alerts.command("show")
def show_alert(number: Number) -> None:
    """Print an alert as JSON."""
    print_json(_json(run(_show(number))))


async def _show(number: int) -> "Alert":
    async with _opened() as book:
        return await book.get(number, _caller())


@alerts.command("ack")
def ack_alert(number: Number, reason: Why = "", as_json: AsJson = False) -> None:
    """Say that somebody is at it."""
    _told(run(_act(number, "ack", reason)), as_json)


@alerts.command("suppress")
def suppress_alert(
    number: Number,
    reason: Why = "",
    until: Annotated[str | None, typer.Option(help="A time with its zone; else for good.")] = None,
    as_json: AsJson = False,
) -> None:
    """Hear no more of it, for a time or for good."""
    _told(run(_act(number, "suppress", reason, _moment(until))), as_json)


@alerts.command("resolve")
def resolve_alert(number: Number, reason: Why = "", as_json: AsJson = False) -> None:
    """Say that it is over."""
    _told(run(_act(number, "resolve", reason)), as_json)


@alerts.command("reopen")
def reopen_alert(number: Number, reason: Why = "", as_json: AsJson = False) -> None:
    """Say that it is not over."""
    _told(run(_act(number, "reopen", reason)), as_json)


async def _act(number: int, action: str, reason: str, until: "datetime | None" = None) -> "Alert":
    from muster.watch.alert_book import Act
    from muster.watch.lifecycle import AlertAction

    async with _opened() as book:
        return await book.act(number, Act(AlertAction(action), _caller().name, reason, until), _caller())


def _moment(text: str | None) -> "datetime | None":
    from datetime import UTC, datetime

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        stop(f"{text!r} is no time, such as 2030-01-01T08:00:00Z.")
    if moment.tzinfo is None:
        stop(f"{text!r} has no zone: 2030-01-01T08:00:00Z has.")
    if moment <= datetime.now(UTC):
        stop(f"{text!r} is past already.")
    return moment


@asynccontextmanager
async def _opened() -> "AsyncIterator[Alerts]":
    """The alerts in the database; what they refuse ends the command with a sentence."""
    from muster.app.cli.opening import loaded_settings, storage
    from muster.app.watched import giving_up
    from muster.definitions.library import NotFound
    from muster.store.alerts import AlertRepository
    from muster.watch.alert_book import Alerts
    from muster.watch.lifecycle import Illegal

    async with storage() as stored:
        give_up = giving_up(stored.database, loaded_settings().settings)
        try:
            yield Alerts(AlertRepository(stored.database, give_up))
        except (NotFound, Illegal) as refused:
            stop(f"{refused}.", FAILED)


def _caller() -> "Caller":
    from muster.model.access import Caller, How, Role

    return Caller("command line", frozenset({Role.ADMIN}), None, How.LOOPBACK)


def _told(alert: "Alert", as_json: bool) -> None:
    if as_json:
        print_json(_json(alert))
    else:
        typer.echo(f"{alert.id} is {alert.state} ({alert.node} of {alert.correlation_key})")


def _json(alert: "Alert") -> "JsonObject":
    """As the HTTP API answers."""
    from muster.api.alert_shapes import AlertRow

    found: JsonObject = AlertRow.model_validate(alert).model_dump(mode="json", by_alias=True)
    return found


def _row(alert: "Alert") -> dict[str, object]:
    return {
        "id": alert.id,
        "workflow": alert.workflow_key,
        "node": alert.node,
        "key": alert.correlation_key,
        "severity": alert.severity.value,
        "reason": alert.reason,
        "state": alert.state.value,
        "count": alert.count,
        "lastTriggeredAt": alert.last_triggered_at.isoformat(timespec="seconds"),
    }
