"""`muster replay`: stored events through a version or a draft."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, AsJson, print_json, print_rows, read_input, run, stop

if TYPE_CHECKING:
    from datetime import datetime

    from muster.model.json import JsonObject
    from muster.watch.backtest import Backtested

_MOST_EVENTS = 10_000_000


def replay(
    workflow: Annotated[str, typer.Argument(help="A watched workflow's key.")],
    version: Annotated[
        int | None, typer.Option(min=1, help="A version's number; else the active one.")
    ] = None,
    graph: Annotated[str | None, typer.Option(help="A draft: a file with `nodes` and `edges`, or -.")] = None,
    since: Annotated[str | None, typer.Option("--from", help="Events that came then, or later.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Events that came before then; else all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what would have been different: runs, misses and alerts. Nothing is written."""
    if version is not None and graph is not None:
        stop("Either --version or --graph is replayed, not both.")
    done = run(_replay(workflow, version, _draft(graph), _moment(since), _moment(until)))
    if as_json:
        from muster.api.replay_shapes import replayed_of

        print_json(replayed_of(done).model_dump(mode="json", by_alias=True))
        return
    _say(done)


async def _replay(
    workflow: str,
    version: int | None,
    graph: "JsonObject | None",
    since: "datetime | None",
    until: "datetime | None",
) -> "Backtested":
    from muster.app.cli.opening import storage
    from muster.app.watched import backtest
    from muster.definitions.library import Invalid, NotFound
    from muster.kit.clock import SystemClock
    from muster.kit.ids import TimeOrderedIds
    from muster.model.access import Caller, How, Role
    from muster.model.problems import told
    from muster.watch.backtest import Asked

    caller = Caller("command line", frozenset({Role.ADMIN}), None, How.LOOPBACK)
    async with storage() as stored:
        replaying = backtest(stored.database, TimeOrderedIds(), SystemClock())
        try:
            return await replaying.run(Asked(workflow, version, graph, since, until), caller, _MOST_EVENTS)
        except NotFound as missing:
            stop(f"{missing}.", FAILED)
        except Invalid as invalid:
            stop(told(invalid.problems), FAILED)


def _draft(name: str | None) -> "JsonObject | None":
    from muster.definitions import text
    from muster.model.problems import AuthorError

    if name is None:
        return None
    try:
        draft = text.read(read_input(name))
    except AuthorError as error:
        stop(f"{name}: {error}")
    if not isinstance(draft, dict):
        stop(f"{name}: a draft has `nodes` and `edges`.")
    graph = draft.get("graph", draft)
    return graph if isinstance(graph, dict) else stop(f"{name}: a draft has `nodes` and `edges`.")


def _moment(text: str | None) -> "datetime | None":
    from datetime import UTC, datetime

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        stop(f"{text!r} is no time, such as 2026-06-10T08:00:00Z.")
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _say(done: "Backtested") -> None:
    report = done.report
    what = "a draft" if done.version is None else f"version {done.version}"
    typer.echo(f"{report.events:,} events through {what} of {done.workflow.key}")
    parts = {"runs": report.runs, "misses": report.misses, "alerts": report.alerts}
    rows = [
        {
            "what": name,
            "now": part.now,
            "replayed": part.replayed,
            "different": part.differences,
            "such as": ", ".join(
                f"{key} {of}" for key, of in [*part.only_now, *part.only_replayed, *part.changed][:3]
            ),
        }
        for name, part in parts.items()
    ]
    print_rows(rows, ("what", "now", "replayed", "different", "such as"), "")
