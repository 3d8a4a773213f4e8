"""Commands about definitions and expressions. None of them needs a server or a database."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, UNUSABLE, AsJson, Stop, print_json, read_input, stop
from muster.definitions.render import Format

if TYPE_CHECKING:
    from muster.model.json import Json, JsonObject
    from muster.model.node_type import Catalogue
    from muster.model.problems import Problem

Files = Annotated[list[str], typer.Argument(metavar="FILE…", help="JSON or YAML; `-` reads standard input.")]
File = Annotated[str, typer.Argument(metavar="FILE", help="JSON or YAML; `-` reads standard input.")]

_UNREADABLE = "UNREADABLE_FILE"


def validate(files: Files, as_json: AsJson = False) -> None:
    """Check definitions and list everything wrong with them.

    Exits with 0 if all are valid (warnings do not count), 1 if one is not, 2 if a file cannot be read.
    """
    from muster.app.cli.opening import catalogue

    known = catalogue()
    verdicts = [(name, *_problems(name, known)) for name in files]
    if as_json:
        print_json([_verdict(name, problems) for name, _, problems in verdicts])
    else:
        for name, text, problems in verdicts:
            print_problems(name, text, problems)
    errors = {problem.code for _, _, problems in verdicts for problem in problems if problem.level == "error"}
    if errors:
        raise Stop("", UNUSABLE if _UNREADABLE in errors else FAILED)


def _problems(name: str, catalogue: "Catalogue") -> "tuple[str, list[Problem]]":
    """The file's text, and all that is wrong with it."""
    from muster.definitions import text
    from muster.definitions.check import check
    from muster.model.problems import AuthorError, Problem

    try:
        raw = read_input(name)
    except Stop as stopped:
        return "", [Problem(_UNREADABLE, "", stopped.message.removeprefix(f"{name}: "))]
    try:
        document = text.read(raw)
    except AuthorError as error:
        return "", list(error.problems)
    return raw.decode("utf-8-sig"), list(check(document, catalogue).problems)


def _verdict(name: str, problems: "list[Problem]") -> "JsonObject":
    from muster.api.problems import problem_json

    errors: list[Json] = [problem_json(problem) for problem in problems if problem.level == "error"]
    warnings: list[Json] = [problem_json(problem) for problem in problems if problem.level == "warning"]
    return {"file": name, "valid": not errors, "errors": errors, "warnings": warnings}


def print_problems(name: str, text: str, problems: "list[Problem]") -> None:
    from muster.app.cli.places import Lines

    if [problem.code for problem in problems] == [_UNREADABLE]:
        typer.echo(f"{name}: {problems[0].message}", err=True)
        return
    lines = Lines(text)
    errors = sum(problem.level == "error" for problem in problems)
    for problem in problems:
        line = problem.line or lines.of(problem.pointer)
        colour = typer.colors.RED if problem.level == "error" else typer.colors.YELLOW
        place = f"{name}:{line}" if line else name
        typer.echo(
            f"{place}: {typer.style(problem.level, fg=colour)} {problem.code} at {problem.pointer or '/'}"
        )
        hint = f" {problem.suggestion[:1].upper()}{problem.suggestion[1:]}" if problem.suggestion else ""
        typer.echo(f"    {problem.message}{hint}")
    warnings = len(problems) - errors
    noted = f", {warnings} warning{'s' * (warnings != 1)}" if warnings else ""
    typer.echo(f"{name}: {'valid' if not errors else f'{errors} error' + 's' * (errors != 1)}{noted}")


def diagram(
    file: File,
    form: Annotated[Format, typer.Option("--format", "-f", help="What to draw.")] = Format.MERMAID,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Draw a definition: nodes, edges, and for JSON the steps of each node in words."""
    from muster.app.cli.opening import catalogue
    from muster.definitions import text
    from muster.definitions.check import check
    from muster.definitions.diagram import draw
    from muster.definitions.render import render
    from muster.model.problems import AuthorError

    known = catalogue()
    try:
        checked = check(text.read(read_input(file)), known)
    except AuthorError as error:
        stop(f"{file}: {error}", FAILED)
    if checked.definition is None:
        print_problems(file, "", list(checked.problems))
        raise Stop("", FAILED)
    made = render(draw(checked.definition, known), form)
    drawn = made if isinstance(made, str) else json.dumps(made, indent=2, ensure_ascii=False)
    if output is None:
        typer.echo(drawn.rstrip("\n"))
        return
    try:
        output.write_text(drawn, encoding="utf-8")
    except OSError as error:
        stop(f"{output} cannot be written: {error.strerror}.")


_NOTHING = "{}"


def evaluate(
    expression: Annotated[str | None, typer.Argument(metavar="EXPR", help="As between `#{` and `}`.")] = None,
    context: Annotated[
        str, typer.Option("--context", "-c", help="The context: JSON, or @FILE, or @- for standard input.")
    ] = _NOTHING,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help='Answer lines of {"expr":…, "context":…} from standard input.')
    ] = False,
) -> None:
    """Evaluate an expression and print its value as JSON.

    Exits with 1 if the expression is wrong or fails; with `--jsonl` each line gets its own answer.
    """
    if jsonl:
        if expression is not None or context != _NOTHING:
            stop("With --jsonl, expressions and contexts come from standard input alone.")
        _answer_lines()
    elif expression is None:
        stop("An expression is missing: muster eval 'days <= 7' --context '{\"days\": 3}'")
    else:
        _print_value(expression, _context(context))


def _answer_lines() -> None:
    """Every line gets its answer, and gets it before the next is read: whoever pairs them stays in step."""
    from datetime import UTC, datetime

    from muster.app.cli.jsonl import answer_line, lines

    for line in lines(sys.stdin.buffer):
        answer = answer_line(line, datetime.now(UTC))
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def _context(given: str) -> "JsonObject":
    from muster.definitions.jsontext import read_json
    from muster.model.problems import AuthorError

    raw: bytes | str = read_input(given[1:]) if given.startswith("@") else given
    try:
        value = read_json(raw)
    except AuthorError as error:
        stop(f"--context: {error}")
    if not isinstance(value, dict):
        stop("--context must be a JSON object.")
    return value


def _print_value(text: str, context: "JsonObject") -> None:
    from datetime import UTC, datetime

    from muster import expr
    from muster.expr import ExpressionError, Scope

    try:
        value = expr.evaluate(text, Scope(context, datetime.now(UTC)))
    except ExpressionError as error:
        pointed = f"\n  {text}\n  {' ' * (error.column - 1)}^" if error.column and "\n" not in text else ""
        stop(f"{error.message}{pointed}", FAILED)
    typer.echo(json.dumps(value, ensure_ascii=False))
