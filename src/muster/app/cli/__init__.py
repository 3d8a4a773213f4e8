"""The command line. Commands import what they need when they run, so that asking for help is quick."""

import sys

import typer

from muster.app.cli.definitions import diagram, evaluate, validate
from muster.app.cli.operating import config, doctor, migrate
from muster.app.cli.output import FAILED, INTERRUPTED, Stop
from muster.app.cli.records import node_types, tokens, workflows
from muster.app.cli.running import run
from muster.app.cli.serving import serve

_EPILOGUE = (
    "Exit codes: 0 all is well; 1 what was checked is wrong (an invalid definition, an expression that "
    "fails, an unhealthy dependency); 2 the command cannot be carried out as given (usage, settings, "
    "unreadable files); 3 something it needs is not there (database, port); 130 interrupted."
)

app = typer.Typer(
    name="muster",
    help="Event-driven workflows: runs the processes you own and watches the processes you don't.",
    epilog=_EPILOGUE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(serve)
app.command()(run)
app.command()(validate)
app.command()(diagram)
app.command("eval")(evaluate)
app.command()(migrate)
app.command()(config)
app.command()(doctor)
app.add_typer(tokens, name="token")
app.add_typer(workflows, name="workflows")
app.add_typer(node_types, name="node-types")


def main() -> None:
    """Run one command. What a person can mend ends in a sentence, not in a traceback."""
    try:
        app()
    except Stop as stop:
        if stop.message:
            typer.echo(stop.message, err=True)
        sys.exit(stop.code)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        sys.stderr.close()
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
