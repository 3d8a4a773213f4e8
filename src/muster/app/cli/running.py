"""`muster run`: one execution in this terminal, on a database that is gone when it has ended."""

import asyncio
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, UNUSABLE, AsJson, Stop, print_json, read_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.tree import Tree

    from muster.app.build import House
    from muster.app.settings import Settings
    from muster.model.access import Caller
    from muster.model.execution import ExecutionDetail, NodeRow
    from muster.model.json import Json, JsonObject
    from muster.model.problems import Problem

LOOK_EVERY = 0.1
SIGNS = {
    "completed": "[green]✓[/]",
    "failed": "[red]✕[/]",
    "paused": "[yellow]‖[/]",
    "retrying": "[yellow]↻[/]",
    "compensated": "[magenta]↺[/]",
    "running": "[blue]▸[/]",
}
UNDER_WAY = ("RUNNING", "RESUMING")

File = Annotated[str, typer.Argument(metavar="FILE", help="JSON or YAML; `-` reads standard input.")]
Context = Annotated[str, typer.Option(help="What it is started with: JSON, or @file.")]


def run(file: File, context: Context = "{}", as_json: AsJson = False) -> None:
    """Run a workflow once, here, and show what happens in it.

    Mail and messages are captured unless they are configured. Exits with 0 if it completes, and with 1 if it
    fails or is not valid.
    """
    from rich.console import Console

    from muster.app.cli.opening import loaded_settings

    document, given = _read(file, context)
    with tempfile.TemporaryDirectory(prefix="muster-run-") as folder:
        settings = loaded_settings({"data-dir": folder}).settings
        found = asyncio.run(_run(settings, document, given, Console(quiet=as_json)))
    if as_json:
        print_json(_result(found))
    if found.row.status != "COMPLETED":
        raise Stop("" if as_json else f"{found.row.error_type}: {found.row.error_message}", FAILED)


def _read(file: str, context: str) -> "tuple[Json, JsonObject]":
    from muster.definitions import text
    from muster.definitions.jsontext import read_json
    from muster.model.problems import AuthorError

    try:
        document = text.read(read_input(file))
        given = read_json(read_input(context[1:]) if context.startswith("@") else context)
    except AuthorError as error:
        raise Stop(str(error), UNUSABLE) from None
    if not isinstance(given, dict):
        raise Stop("The context must be a JSON object.", UNUSABLE)
    return document, given


async def _run(
    settings: "Settings", document: "Json", context: "JsonObject", console: "Console"
) -> "ExecutionDetail":
    from muster.app.build import opened
    from muster.app.logs import configure_logs
    from muster.app.settings import DatabaseSettings
    from muster.definitions.library import Invalid
    from muster.engine.control import Start
    from muster.model.access import Caller, How, Role

    configure_logs(settings.log.model_copy(update={"level": "error"}))
    caller = Caller("muster run", frozenset({Role.ADMIN}), None, How.LOOPBACK)
    async with opened(settings.model_copy(update={"database": DatabaseSettings()})) as house:
        try:
            saved = await house.library.create(document, caller)
        except Invalid as invalid:
            raise Stop("\n".join(map(_said, invalid.problems)), FAILED) from None
        begun = await house.control.start(Start(saved.workflow.id, context), caller)
        return await _show_until_it_ends(house, begun.id, caller, console)


def _said(problem: "Problem") -> str:
    return f"{problem.pointer or '/'}: {problem.message} {problem.suggestion or ''}".rstrip()


async def _show_until_it_ends(
    house: "House", execution: str, caller: "Caller", console: "Console"
) -> "ExecutionDetail":
    from rich.live import Live

    from muster.engine.state import FINAL

    with Live(console=console, auto_refresh=False) as screen:
        while True:
            found = await house.control.get(execution, caller)
            running = await house.following.running(found.row, found.row.status in UNDER_WAY)
            screen.update(_tree(found, running), refresh=True)
            if found.row.status in FINAL:
                return found
            await asyncio.sleep(LOOK_EVERY)


def _tree(found: "ExecutionDetail", running: "Sequence[NodeRow]") -> "Tree":
    from rich.markup import escape
    from rich.tree import Tree

    row = found.row
    tree = Tree(f"[bold]{escape(row.key)}[/] {row.status}")
    for node in (*found.nodes, *running):
        tree.add(_line(node))
    return tree


def _line(node: "NodeRow") -> str:
    from rich.markup import escape

    sign = SIGNS.get(node.status, "[yellow]◷[/]")
    again = f" [dim]visit {node.visit}[/]" if node.visit > 1 else ""
    tries = f" [dim]attempt {node.attempt}[/]" if node.attempt > 1 else ""
    took = ""
    if node.completed_at is not None:
        took = f" [dim]{(node.completed_at - node.started_at).total_seconds() * 1000:.0f} ms[/]"
    elif node.due_at is not None:
        took = f" [dim]until {node.due_at:%H:%M:%S} UTC[/]"
    why = f" [red]{escape(str(node.error['message']))}[/]" if node.error else ""
    return f"{sign} {escape(node.node_id)}{again}{tries}{took}{why}"


def _result(found: "ExecutionDetail") -> "JsonObject":
    row = found.row
    return {
        "executionId": row.id,
        "status": row.status,
        "output": found.output,
        "error": {"type": row.error_type, "message": row.error_message} if row.error_type else None,
        "nodes": [
            {"nodeId": node.node_id, "visit": node.visit, "status": node.status, "output": node.output}
            for node in found.nodes
        ],
    }
