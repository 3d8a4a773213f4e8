"""`muster secrets`: what is kept encrypted, beside a server that may be running."""

import typer

from muster.app.cli.output import UNAVAILABLE, AsJson, print_json, run, stop

secrets = typer.Typer(help="What is kept encrypted.", no_args_is_help=True)


@secrets.callback()
def _several() -> None:
    """One command is a group all the same: others may follow."""


@secrets.command("encrypt-anew")
def encrypt_anew(as_json: AsJson = False) -> None:
    """Bring secrets, passwords of data sources and secrets of triggers under the first key.

    `MUSTER_SECRET_KEY=new,old` names both; afterwards the old one can go.
    """
    changed = run(_encrypt_anew())
    if as_json:
        print_json({"changed": changed})
    else:
        typer.echo(f"{changed} encrypted anew; everything is under the first key.")


async def _encrypt_anew() -> int:
    from muster.app.cli.opening import loaded_settings, storage
    from muster.app.storage import vault_of
    from muster.kit.clock import SystemClock
    from muster.nodes.data_ports import NotConfigured
    from muster.store.secrets import SecretRepository
    from muster.store.vault import Unreadable

    async with storage() as stored:
        try:
            kept = SecretRepository(stored.database, SystemClock(), vault_of(loaded_settings().settings))
            return await kept.encrypt_anew()
        except (NotConfigured, Unreadable) as error:
            stop(str(error), UNAVAILABLE)
