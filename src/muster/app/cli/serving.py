"""`muster serve`."""

import gc
from pathlib import Path
from typing import Annotated

import typer

from muster.app.cli.output import UNAVAILABLE, stop


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on; 0 takes a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder of the SQLite database.")] = None,
    roles: Annotated[
        str | None, typer.Option(help="What this instance does: web,engine,watch,publisher.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve; SQLite serves one.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond loopback without an OpenID provider.")
    ] = False,
) -> None:
    """Start Muster. Without settings: SQLite in ./data, on 127.0.0.1:8080."""
    # Loading makes a great many objects and no garbage: looking for some would only delay the start.
    gc.disable()
    from muster.app.cli.opening import loaded_settings
    from muster.app.serve import run
    from muster.app.storage import CannotOpen

    gc.enable()

    loaded = loaded_settings(
        {
            "host": host,
            "port": port,
            "data-dir": data_dir,
            "roles": roles,
            "workers": workers,
            "insecure": insecure or None,
        }
    )
    try:
        run(loaded)
    except CannotOpen as error:
        stop(str(error), UNAVAILABLE)
