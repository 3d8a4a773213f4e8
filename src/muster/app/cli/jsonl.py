"""Expressions as lines of JSON, so that any other implementation of the language can be compared."""

from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from muster import expr
from muster.definitions.jsontext import read_json
from muster.expr import ExpressionError, Scope
from muster.model.json import JsonObject
from muster.model.problems import AuthorError

LONGEST = 1_048_576
_PIECE = 65_536


def lines(source: BinaryIO) -> Iterator[bytes | None]:
    """A source's lines, without their ends; None for each that is too long, of which no more is kept."""
    while line := source.readline(LONGEST + 1):
        if line.endswith(b"\n") or len(line) <= LONGEST:
            yield line.removesuffix(b"\n")
        else:
            yield None
            while (piece := source.readline(_PIECE)) and not piece.endswith(b"\n"):
                pass


def answer_line(line: bytes | str | None, now: datetime) -> JsonObject:
    """Answer `{"expr": …, "context": …}` with `{"value": …}` or `{"error": …}`."""
    if line is None:
        return {"error": f"the line is longer than {LONGEST:,} bytes"}
    try:
        request = read_json(line)
    except AuthorError as error:
        return {"error": f"the line cannot be read: {error}"}
    if not isinstance(request, dict) or not isinstance(text := request.get("expr"), str):
        return {"error": 'the line needs an "expr" that is a text'}
    context = request.get("context", {})
    if not isinstance(context, dict):
        return {"error": 'the "context" must be an object'}
    try:
        return {"value": expr.evaluate(text, Scope(context, now))}
    except ExpressionError as error:
        place = "" if error.column is None else f" (column {error.column})"
        return {"error": error.message + place}
