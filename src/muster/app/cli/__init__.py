"""The command line. Commands import what they need when they run, so that asking for help is quick."""

import errno
import os
import sys
from typing import Annotated

import typer

from muster import __version__
from muster.app.cli.alerts import alerts
from muster.app.cli.capsules import capsule
from muster.app.cli.certifying import certify
from muster.app.cli.commands import commands
from muster.app.cli.conformance import conformance
from muster.app.cli.dead_letters import letters
from muster.app.cli.definitions import diagram, evaluate, validate
from muster.app.cli.demo import demo
from muster.app.cli.executions import executions
from muster.app.cli.idempotency import idempotency
from muster.app.cli.ingesting import ingest
from muster.app.cli.instances import instances
from muster.app.cli.monitor import monitor
from muster.app.cli.operating import backup, config, doctor, migrate
from muster.app.cli.outbox import outbox
from muster.app.cli.output import INTERRUPTED, UNAVAILABLE, UNREAD, UNUSABLE, Stop
from muster.app.cli.publishing import publish
from muster.app.cli.records import node_types, tokens, workflows
from muster.app.cli.replaying import replay
from muster.app.cli.running import run
from muster.app.cli.schedules import schedules
from muster.app.cli.secrets import secrets
from muster.app.cli.serving import serve
from muster.app.cli.tasks import tasks
from muster.app.cli.triggers import triggers
from muster.app.cli.waits import waits

_EPILOGUE = (
    "Exit codes: 0 all is well; 1 what was checked is wrong (an invalid definition, an expression that "
    "fails, an unhealthy dependency); 2 the command cannot be carried out as given (usage, settings, "
    "unreadable files); 3 something it needs is not there (database, port, room for its output); "
    "130 interrupted; 141 whoever read its output has stopped reading."
)

app = typer.Typer(
    name="muster",
    help="Event-driven workflows: runs the processes you own and watches the processes you don't.",
    epilog=_EPILOGUE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"muster {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    pass


app.command()(serve)
app.command()(run)
app.command()(validate)
app.command()(certify)
app.command()(diagram)
app.command("eval")(evaluate)
app.command()(migrate)
app.command()(backup)
app.command()(config)
app.command()(doctor)
app.command()(conformance)
app.command()(instances)
app.command()(publish)
app.command()(ingest)
app.command()(replay)
app.add_typer(capsule, name="capsule")
app.add_typer(tokens, name="token")
app.add_typer(workflows, name="workflows")
app.add_typer(executions, name="executions")
app.add_typer(idempotency, name="idempotency")
app.add_typer(schedules, name="schedules")
app.add_typer(waits, name="waits")
app.add_typer(tasks, name="tasks")
app.add_typer(commands, name="commands")
app.add_typer(outbox, name="outbox")
app.add_typer(triggers, name="triggers")
app.add_typer(letters, name="dead-letters")
app.add_typer(alerts, name="alerts")
app.add_typer(monitor, name="monitor")
app.add_typer(secrets, name="secrets")
app.add_typer(node_types, name="node-types")
app.add_typer(demo, name="demo")

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main() -> None:
    """Run one command. What a person can mend ends in a sentence, not in a traceback."""
    try:
        app()
    except Stop as stop:
        if stop.message:
            typer.echo(stop.message, err=True)
        sys.exit(stop.code)
    except SystemExit as ended:
        # A closed pipe has become an exit with 1 on its way here: of those that mean something, it is none.
        if isinstance(ended.__context__, BrokenPipeError):
            sys.exit(UNREAD)
        if ended.code == UNUSABLE and _looks_like_an_option(sys.argv[1:3]):
            typer.echo(
                f"An expression that begins with - goes after --: muster eval -- {sys.argv[2]}", err=True
            )
        raise
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _give_up_output()
        typer.echo(f"The output cannot be written: {error.strerror}.", err=True)
        sys.exit(UNAVAILABLE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _looks_like_an_option(arguments: list[str]) -> bool:
    match arguments:
        case ["eval", expression]:
            return expression.startswith("-") and not expression.startswith("--")
    return False


def _give_up_output() -> None:
    """Let what is still to be written go nowhere: Python would try once more at the end, and fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
