"""Commands for whoever runs Muster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, UNAVAILABLE, AsJson, Stop, print_json, run, stop

if TYPE_CHECKING:
    from muster.app.load import Loaded


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="Only say what is missing; exit with 1 if any.")
    ] = False,
) -> None:
    """Bring the database's schema up to date."""
    from muster.app.cli.opening import loaded_settings
    from muster.app.storage import CannotOpen

    try:
        run(_migrate(loaded_settings(), check))
    except CannotOpen as error:
        stop(str(error), UNAVAILABLE)


async def _migrate(loaded: "Loaded", check: bool) -> None:
    from muster.app.storage import database_name, migrated, missing_revisions, opened_for_migration

    name = database_name(loaded.settings)
    if check:
        found = await missing_revisions(loaded.settings)
    else:
        async with opened_for_migration(loaded.settings) as database:
            found = await migrated(database)
    if not found:
        typer.echo(f"{name}: up to date")
        return
    typer.echo(f"{name}: {'missing' if check else 'made'} {', '.join(found)}")
    if check:
        raise Stop("", FAILED)


def backup(
    file: Annotated[Path, typer.Argument(help="Where the copy is written; nothing may be there yet.")],
) -> None:
    """Copy SQLite's database, beside a server that may be running on it."""
    import sqlite3

    from muster.app.cli.opening import loaded_settings
    from muster.app.storage import CannotOpen, sqlite_file
    from muster.store.backup import BadCopy, copy_database

    try:
        source = sqlite_file(loaded_settings().settings)
    except CannotOpen as error:
        stop(str(error), UNAVAILABLE)
    if source is None:
        stop("This is for SQLite: PostgreSQL has pg_dump and pg_basebackup, MariaDB has mariadb-dump.")
    if not source.exists():
        stop(f"There is no database at {source}.", UNAVAILABLE)
    try:
        copy_database(source, file)
    except FileExistsError:
        stop(f"{file} is there already, and is not written over.")
    except OSError as error:
        stop(f"{file} cannot be written: {error.strerror}.", UNAVAILABLE)
    except (BadCopy, sqlite3.Error) as error:
        stop(f"{source} cannot be copied: {error}.", UNAVAILABLE)
    typer.echo(f"{file}: {file.stat().st_size:,} bytes")


def config(as_json: AsJson = False) -> None:
    """Print every setting, its value and where that came from. Secrets are masked."""
    from muster.app.cli.opening import loaded_settings
    from muster.app.cli.output import print_rows
    from muster.app.load import shown
    from muster.app.settings import leaves

    loaded = loaded_settings()
    rows = [
        {
            "setting": leaf.path,
            "value": shown(leaf, loaded.settings),
            "from": loaded.sources.get(leaf.path, "default"),
            "variable": leaf.variable,
            "read": not leaf.later,
        }
        for leaf in leaves()
    ]
    if as_json:
        print_json(rows)
        return
    print_rows(rows, ("setting", "value", "from", "variable"), "")
    for path in loaded.ignored():
        typer.echo(f"{path} is set, but nothing in this version reads it.", err=True)


def doctor(as_json: AsJson = False) -> None:
    """Check everything that Muster depends on, and say what to do about what is wrong."""
    from muster.app.cli.opening import loaded_settings
    from muster.app.doctor import examine

    findings = run(examine(loaded_settings()))
    if as_json:
        print_json([{"name": f.name, "ok": f.ok, "found": f.found, "advice": f.advice} for f in findings])
    else:
        for finding in findings:
            mark = typer.style("ok  ", fg=typer.colors.GREEN) if finding.ok else typer.style("FAIL", fg="red")
            typer.echo(f"{mark}  {finding.name}: {finding.found}")
            if finding.advice:
                typer.echo(f"      {finding.advice}")
    if not all(finding.ok for finding in findings):
        raise Stop("", FAILED)
