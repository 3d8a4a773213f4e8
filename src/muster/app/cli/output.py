"""How commands speak: to a person by default, to a program with `--json`; and how they end."""

import json
import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer

T = TypeVar("T")

OK, FAILED, UNUSABLE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130
# As the shell says of programs that a closed pipe ends.
UNREAD = 141

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


class Stop(Exception):
    """Ends the command with this sentence on standard error and this exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message, self.code = message, code


def stop(message: str, code: int = UNUSABLE) -> NoReturn:
    raise Stop(message, code)


def run(work: Coroutine[object, None, T]) -> T:
    """Carry out what is asynchronous, and wait for it."""
    import asyncio  # here: commands that wait for nothing start without it

    return asyncio.run(work)


def print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_rows(rows: Sequence[Mapping[str, object]], columns: Sequence[str], none: str) -> None:
    """A table with its columns aligned, or the sentence that says there is nothing."""
    if not rows:
        typer.echo(none)
        return
    cells = [[column.upper() for column in columns]]
    cells += [["" if row[column] is None else str(row[column]) for column in columns] for row in rows]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    for line in cells:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def read_input(name: str, limit: int = 1_048_576) -> bytes:
    """A file's bytes, or standard input's for `-`; never more than the limit, whatever the file is."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(limit + 1)
    except OSError as error:
        stop(f"{name}: {error.strerror or error}.")
    if len(data) > limit:
        stop(f"{name} is larger than {limit:,} bytes.")
    return data
