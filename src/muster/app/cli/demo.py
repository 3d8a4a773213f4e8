"""`muster demo load` and `muster demo traffic`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import UNAVAILABLE, AsJson, print_json, run, stop
from muster.app.cli.server import Server, Token

if TYPE_CHECKING:
    from muster.app.settings import Settings

demo = typer.Typer(help="A small school to try things on.", no_args_is_help=True)

_EXECUTE = (
    "curl -s '{url}/api/workflow/execute?wait=10' -H 'content-type: application/json' "
    '-d \'{{"key": "{key}"}}\''
)


@demo.command("load")
def load(
    data_dir: Annotated[Path | None, typer.Option(help="The data folder; else that of the settings.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make the demo: its database, queries, actions and workflows. What is there already stays as it is.

    Works beside a server that runs on the same database, and makes the database if there is none.
    """
    from muster.app.cli.opening import loaded_settings
    from muster.app.demo_workflows import demo_workflows
    from muster.app.logs import configure_logs
    from muster.app.storage import CannotOpen

    settings = loaded_settings({"data-dir": data_dir}).settings
    configure_logs(settings.log.model_copy(update={"level": "error"}))
    try:
        made = run(_load(settings))
    except CannotOpen as error:
        stop(str(error), UNAVAILABLE)
    if as_json:
        print_json({"made": made, "workflows": list(demo_workflows())})
    else:
        _say(settings, made)


@demo.command("traffic")
def send_traffic(
    rate: Annotated[float, typer.Option(min=0.01, max=1_000, help="Trades that begin each second.")] = 5.0,
    trades: Annotated[
        int | None, typer.Option(min=1, help="So many in all; else until it is stopped.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same trades for the same number; else others.")] = 0,
    server: Server = None,
    token: Token = None,
) -> None:
    """Send trades to a running Muster as other systems would, some late, lost, doubled or out of order, and
    let it watch them: see /wallboard and /alerts. Stopping it harms nothing."""
    from muster.app.cli.demo_traffic import send

    send(rate, trades, seed, server, token)


async def _load(settings: "Settings") -> list[str]:
    from muster.app.demo import load_demo
    from muster.app.storage import migrated, missing_revisions, opened_for_migration, opened_storage
    from muster.kit.clock import SystemClock

    if await missing_revisions(settings):
        async with opened_for_migration(settings) as database:
            await migrated(database)
    async with opened_storage(settings) as storage:
        return await load_demo(storage.database, SystemClock(), settings.data_dir, "command line")


def _say(settings: "Settings", made: list[str]) -> None:
    from muster.app.demo_workflows import demo_workflows, has_schedule

    for name in made:
        typer.echo(f"made {name}")
    if not made:
        typer.echo("The demo is there already: nothing was changed.")
    documents = demo_workflows()
    port = settings.port or 8080
    typer.echo("\nWith `muster serve` running, try:")
    for key in documents:
        typer.echo(f"  {_EXECUTE.format(url=f'http://127.0.0.1:{port}', key=key)}")
    scheduled = [key for key, document in documents.items() if has_schedule(document)]
    typer.echo(f"\n{' and '.join(scheduled)} are started by the clock: `muster schedules ls` says when.")
