"""`muster capsule`: an execution or an item in one file, stepped through and run again offline."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from muster.app.cli.output import FAILED, AsJson, print_json, read_input, run, stop

if TYPE_CHECKING:
    from muster.capsule.document import Capsule
    from muster.capsule.steps import Step
    from muster.model.json import JsonObject

_LARGEST = 256 * 1024 * 1024


class _ExportByDefault(TyperGroup):
    """`muster capsule ID` is `muster capsule export ID`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args[0] in self.commands or args[0].startswith("-")
        return super().resolve_command(ctx, args if known else ["export", *args])


capsule = typer.Typer(
    cls=_ExportByDefault,
    help="An execution, or a watched item, in one file: `muster capsule ID -o FILE`.",
    no_args_is_help=True,
    # So that `muster capsule ID` may have options behind it.
    context_settings={"ignore_unknown_options": True},
)

File = Annotated[str, typer.Argument(metavar="FILE", help="A capsule; `-` reads standard input.")]
Output = Annotated[str | None, typer.Option("--output", "-o", help="Where to; else to standard output.")]


@capsule.command("export")
def export(
    name: Annotated[str, typer.Argument(metavar="EXECUTION|ITEM", help="Its id, or its correlation key.")],
    output: Output = None,
) -> None:
    """Write an execution, or a watched item, with all that came and when, to one file; without secrets.

    Works on the database directly, beside servers that may be running on it.
    """
    text = json.dumps(run(_exported(name)), ensure_ascii=False, indent=1, sort_keys=True)
    _write(text, output)


@capsule.command("show")
def show(
    file: File,
    step: Annotated[bool, typer.Option("--step", help="One step at a time: Enter goes on, q ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Step through a capsule: what happened, in the order of time, and what each step changed."""
    from muster.capsule.steps import steps_of

    found = _read(file)
    steps = steps_of(found)
    if as_json:
        print_json([_json(each) for each in steps])
        return
    for each in steps:
        typer.echo(_line(each, steps[0]))
        for name, value in each.changed.items():
            typer.echo(f"{'':>14}  {name} = {_short(value)}")
        if step and each is not steps[-1] and input().strip().lower().startswith("q"):
            return


@capsule.command("replay")
def replay(file: File, as_json: AsJson = False) -> None:
    """Run a capsule again, on the real engine with what is recorded. 1: it comes out otherwise."""
    from muster.capsule.rerun import rerun

    done = rerun(_read(file))
    if as_json:
        path = [{"node": node, "visit": visit, "status": status} for node, visit, status in done.path]
        print_json({"differences": list(done.differences), "path": path, "status": done.status or None})
    else:
        typer.echo("\n".join(done.differences) or "It comes out as it did.")
    if done.differences:
        stop("", FAILED)


@capsule.command("test")
def make_test(file: File, output: Output = None) -> None:
    """Write a pytest case that runs this capsule again."""
    found = _read(file)
    if file == "-":
        stop("A test reads its capsule from a file: name one.")
    _write(_test_of(found, Path(file), Path(output) if output else None), output)


async def _exported(name: str) -> "JsonObject":
    from muster.app.cli.opening import catalogue, loaded_settings, storage
    from muster.app.storage import CannotOpen, vault_of
    from muster.capsule.document import to_json
    from muster.capsule.export import capsule_of
    from muster.capsule.secrets import without_secrets
    from muster.kit.clock import SystemClock
    from muster.store.capsules import CapsuleRepository, TooMuch
    from muster.store.secrets import SecretRepository
    from muster.store.vault import Unreadable

    types = catalogue().node_types
    async with storage() as stored:
        try:
            found = await capsule_of(CapsuleRepository(stored.database), name, types)
            if found is None:
                stop(f"There is no execution and no watched item called {name!r}.", FAILED)
            vault = vault_of(loaded_settings().settings)
            secrets: dict[str, str] = {}
            if vault is not None:
                kept = SecretRepository(stored.database, SystemClock(), vault)
                secrets = await kept.reveal(found.institute_id)
        except TooMuch as error:
            stop(f"{name} is too large for a capsule: {error}.", FAILED)
        except (CannotOpen, Unreadable) as error:
            stop(f"Secrets cannot be told from other values, so nothing is written: {error}")
    return without_secrets(to_json(found), secrets.values())


def _read(file: str) -> "Capsule":
    from muster.capsule.document import NoCapsule, read

    try:
        return read(read_input(file, _LARGEST))
    except NoCapsule as wrong:
        stop(f"{file} is no capsule: {wrong}.")


def _write(text: str, output: str | None) -> None:
    if output is None:
        typer.echo(text)
        return
    try:
        Path(output).write_text(f"{text}\n")
    except OSError as error:
        stop(f"{output}: {error.strerror or error}.")


def _test_of(found: "Capsule", file: Path, output: Path | None) -> str:
    from muster.capsule.document import ItemCapsule

    what = found.correlation_key if isinstance(found, ItemCapsule) else found.id
    name = "".join(letter if letter.isalnum() else "_" for letter in what).strip("_").lower()
    beside = output is not None and output.parent.resolve() == file.parent.resolve()
    place = f"Path(__file__).parent / {file.name!r}" if beside else f"Path({str(file.resolve())!r})"
    return f'''"""{found.key} v{found.version}, {what}: run again as it was recorded."""

from pathlib import Path

from muster.capsule import replay


def test_{name}_comes_out_as_it_did() -> None:
    replay({place})'''


def _line(step: "Step", first: "Step") -> str:
    after = f"+{(step.at - first.at).total_seconds():,.3f}s"
    parts = (f"{step.what:<8}", step.node, step.status, step.told)
    return f"{after:>14}  {'  '.join(part for part in parts if part)}".rstrip()


def _json(step: "Step") -> "JsonObject":
    return {
        "at": step.at.isoformat(),
        "what": step.what,
        "node": step.node,
        "status": step.status,
        "told": step.told,
        "changed": step.changed,
    }


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:119]}…"
