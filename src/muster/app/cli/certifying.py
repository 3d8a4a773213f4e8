"""`muster certify`: a workflow on the real engine, crashed at every commit, in every order of events."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, UNUSABLE, AsJson, Stop, print_json, read_input, stop

if TYPE_CHECKING:
    from muster.model.json import Json, JsonObject
    from muster.model.node_type import Catalogue
    from muster.model.workflow import Definition
    from muster.sim.certify.certificate import Heard
    from muster.sim.certify.subject import Subject

File = Annotated[str, typer.Argument(metavar="FILE", help="JSON or YAML; `-` reads standard input.")]
Context = Annotated[str, typer.Option(help="What it is started with: JSON, or @file.")]
Replies = Annotated[
    str | None,
    typer.Option(help="A file, JSON or YAML: by node, what the world answers instead of the usual."),
]
RegisteredFile = Annotated[
    str | None,
    typer.Option(help="A file, JSON or YAML: `queries` and `actions` of your own, by their keys."),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(metavar="NODE", help="A repeat by this node does no harm, though it has no key."),
]
Runs = Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many runs.")]
Strict = Annotated[
    bool, typer.Option(help="Also fail where the order changes the outcome, or not everything was tried.")
]
Badge = Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Write a badge there.")]


def certify(
    file: File,
    context: Context = "{}",
    replies: Replies = None,
    registered: RegisteredFile = None,
    accept: Accept = None,
    runs: Runs = 500,
    strict: Strict = False,
    badge: Badge = None,
    as_json: AsJson = False,
) -> None:
    """Prove what a workflow does when instances die, events come in another order, or not at all.

    It runs on the real engine, under a virtual clock, and reaches nobody. Exits with 0 if nothing is lost and
    every effect that is repeated has a key, with 1 if not, or if the definition is not valid.
    """
    from muster.app.cli.badges import badge_of
    from muster.app.cli.certificates import said, shown
    from muster.sim.certify.certificate import certify as made

    subject = _subject(file, context, replies, registered, accept or [])
    with _Progress(runs, quiet=as_json) as heard:
        found = made(subject, runs, frozenset(accept or ()), heard)
    holds = found.holds(strict)
    if badge is not None:
        _write(badge, badge_of(found, holds))
    if as_json:
        print_json(said(found, holds, strict))
    else:
        typer.echo("\n".join(shown(found, holds, strict)))
    if not holds:
        raise Stop("", FAILED)


def _subject(
    file: str, context: str, replies: str | None, registered: str | None, accept: list[str]
) -> "Subject":
    from muster.app.certifying import (
        BadChild,
        BadRegistered,
        UnknownNode,
        check_nodes,
        known_with,
        subject_of,
    )
    from muster.app.cli.opening import plugged_in

    try:
        known = known_with(plugged_in(), _object(registered))
    except BadRegistered as bad:
        stop(f"{registered}: {bad}")
    definition = _definition(file, known.catalogue)
    folder = None if file == "-" else Path(file).resolve().parent
    given, answered = _context(context), _object(replies)
    try:
        subject = subject_of(definition, folder, known, given, answered)
    except BadChild as bad:
        stop(f"{file}: {bad}", FAILED)
    for name, nodes in ((replies, [*answered]), ("--accept", accept)):
        try:
            check_nodes(subject, nodes)
        except UnknownNode as unknown:
            stop(f"{name}: {unknown}")
    return subject


def _definition(file: str, catalogue: "Catalogue") -> "Definition":
    """The definition, if it is valid; else all that is wrong with it, as `muster validate` says it."""
    from muster.app.cli.definitions import print_problems
    from muster.definitions import text
    from muster.definitions.check import check
    from muster.model.problems import AuthorError

    raw = read_input(file)
    try:
        checked = check(text.read(raw), catalogue)
    except AuthorError as error:
        print_problems(file, "", list(error.problems))
        raise Stop("", FAILED) from None
    if checked.definition is None:
        print_problems(file, raw.decode("utf-8-sig"), list(checked.problems))
        raise Stop("", FAILED)
    return checked.definition


def _context(given: str) -> "JsonObject":
    from muster.definitions.jsontext import read_json
    from muster.model.problems import AuthorError

    try:
        return _checked(read_json(read_input(given[1:]) if given.startswith("@") else given), "--context")
    except AuthorError as error:
        raise Stop(f"--context: {error}", UNUSABLE) from None


def _object(file: str | None) -> "JsonObject":
    from muster.definitions import text
    from muster.model.problems import AuthorError

    if file is None:
        return {}
    try:
        return _checked(text.read(read_input(file)), file)
    except AuthorError as error:
        raise Stop(f"{file}: {error}", UNUSABLE) from None


def _checked(value: "Json", name: str) -> "JsonObject":
    if not isinstance(value, dict):
        raise Stop(f"{name} must be an object.", UNUSABLE)
    return value


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        stop(f"{path} cannot be written: {error.strerror}.")


class _Progress:
    """A line on a terminal that counts the runs; elsewhere, nothing."""

    def __init__(self, most: int, quiet: bool) -> None:
        import sys

        self._most, self._shows = most, sys.stderr.isatty() and not quiet

    def __enter__(self) -> "Heard":
        return self._hear

    def __exit__(self, *_: object) -> None:
        if self._shows:
            typer.echo("\r\033[K", err=True, nl=False)

    def _hear(self, runs: int) -> None:
        if self._shows:
            typer.echo(f"\r{runs} runs (at most {self._most})", err=True, nl=False)
