"""`muster dead-letters`: what could not be brought to its end, looked at and dealt with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, AsJson, print_json, print_rows, run, stop

if TYPE_CHECKING:
    from muster.engine.letters import DeadLetter, DeadLetters
    from muster.model.access import Caller
    from muster.model.json import JsonObject

letters = typer.Typer(help="What could not be brought to its end.", no_args_is_help=True)

_PAGE = 200
_MOST_SHOWN = 80

Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="A letter's number.")]
Why = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit log.")]


@letters.command("ls")
def list_letters(
    kind: Annotated[str | None, typer.Option(help="execution.")] = None,
    status: Annotated[str | None, typer.Option(help="open, redriven or dismissed; else all.")] = None,
    source: Annotated[str | None, typer.Option(help="A workflow's key.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
    as_json: AsJson = False,
) -> None:
    """List dead letters, newest first."""
    found = run(_list(kind, status, source, limit))
    if as_json:
        print_json([_json(letter) for letter in found])
    else:
        columns = ("id", "kind", "source", "key", "status", "error", "createdAt")
        print_rows([_row(letter) for letter in found], columns, "There are no dead letters.")


async def _list(kind: str | None, status: str | None, source: str | None, limit: int) -> "list[DeadLetter]":
    from muster.engine.letters import LetterKind, LetterStatus, WantedLetters
    from muster.model.stored import Page

    if kind is not None and kind not in list(LetterKind):
        stop(f"There is no kind {kind!r}; there is {', '.join(LetterKind)}.")
    if status is not None and status not in list(LetterStatus):
        stop(f"There is no status {status!r}; there are {', '.join(LetterStatus)}.")
    wanted = WantedLetters(
        LetterKind(kind) if kind else None, LetterStatus(status) if status else None, source
    )
    found: list[DeadLetter] = []
    cursor: str | None = None
    async with _opened() as stored:
        while True:
            page = Page(min(_PAGE, limit - len(found)), cursor)
            rows, cursor = await stored.list(_caller(), wanted, page)
            found.extend(rows)
            if cursor is None or len(found) >= limit:
                return found


@letters.command("show")
def show_letter(number: Number) -> None:
    """Print a dead letter as JSON, with everything that was tried."""
    print_json(_json(run(_show(number))))


async def _show(number: int) -> "DeadLetter":
    async with _opened() as stored:
        return await stored.get(number, _caller())


@letters.command("redrive")
def redrive_letter(
    number: Number,
    reason: Why = "",
    node: Annotated[str | None, typer.Option("--from", help="The node to go on from.")] = None,
    context: Annotated[str | None, typer.Option(help="Changes to the context: JSON, or @file.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Another version to go on with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Try again what a letter is about."""
    letter = run(_redrive(number, reason, node, _patch(context), version))
    _told(letter, as_json)


async def _redrive(
    number: int, reason: str, node: str | None, patch: "JsonObject | None", version: int | None
) -> "DeadLetter":
    from muster.engine.actions import By, Retry

    async with _opened() as stored:
        return await stored.redrive(number, By(_caller(), reason), Retry(node, patch, version))


def _patch(context: str | None) -> "JsonObject | None":
    from muster.app.cli.output import read_input
    from muster.definitions.jsontext import read_json
    from muster.model.problems import AuthorError

    if context is None:
        return None
    try:
        given = read_json(read_input(context[1:]) if context.startswith("@") else context)
    except AuthorError as error:
        stop(str(error))
    if not isinstance(given, dict):
        stop("The context must be a JSON object.")
    return given


@letters.command("dismiss")
def dismiss_letter(number: Number, reason: Why = "", as_json: AsJson = False) -> None:
    """Let a letter be."""
    _told(run(_dismiss(number, reason)), as_json)


async def _dismiss(number: int, reason: str) -> "DeadLetter":
    from muster.engine.actions import By

    async with _opened() as stored:
        return await stored.dismiss(number, By(_caller(), reason))


@asynccontextmanager
async def _opened() -> "AsyncIterator[DeadLetters]":
    """The letters in the database; what they refuse ends the command with a sentence."""
    from muster.app.cli.opening import catalogue, loaded_settings, storage
    from muster.app.dead_letters import dead_letters
    from muster.app.schemas import opened_schemas
    from muster.definitions.library import NotFound
    from muster.engine.control import Conflict

    known = catalogue()
    async with storage() as stored, opened_schemas(loaded_settings().settings) as schemas:
        try:
            parts = (stored.database, stored.workflows, stored.templates, known, schemas.messages)
            async with dead_letters(*parts) as found:
                yield found
        except (NotFound, Conflict) as refused:
            stop(f"{refused}.", FAILED)


def _caller() -> "Caller":
    from muster.model.access import Caller, How, Role

    return Caller("command line", frozenset({Role.ADMIN}), None, How.LOOPBACK)


def _told(letter: "DeadLetter", as_json: bool) -> None:
    if as_json:
        print_json(_json(letter))
    else:
        typer.echo(f"{letter.id} is {letter.status} ({letter.kind} {letter.key})")


def _json(letter: "DeadLetter") -> "JsonObject":
    """As the HTTP API answers."""
    from muster.api.letter_shapes import LetterItem

    found: JsonObject = LetterItem.model_validate(letter).model_dump(mode="json", by_alias=True)
    return found


def _row(letter: "DeadLetter") -> dict[str, object]:
    said = f"{letter.error_type}: {letter.error_message}".replace("\n", " ")
    return {
        "id": letter.id,
        "kind": letter.kind.value,
        "source": letter.source,
        "key": letter.key,
        "status": letter.status.value,
        "error": said if len(said) <= _MOST_SHOWN else f"{said[: _MOST_SHOWN - 1]}…",
        "createdAt": letter.created_at.isoformat(timespec="seconds"),
    }
