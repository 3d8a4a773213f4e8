"""Expressions as lines of JSON, so that any other implementation of the language can be compared."""

import json
from datetime import datetime

from muster.expr.errors import ExpressionError
from muster.expr.limits import Scope
from muster.expr.template import evaluate
from muster.model.json import JsonObject


def answer_line(line: str, now: datetime) -> JsonObject:
    """Answer `{"expr": …, "context": …}` with `{"value": …}` or `{"error": …}`."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"error": "the line is not JSON"}
    if not isinstance(request, dict) or not isinstance(request.get("expr"), str):
        return {"error": 'the line needs an "expr" that is a text'}
    context = request.get("context", {})
    if not isinstance(context, dict):
        return {"error": 'the "context" must be an object'}
    try:
        return {"value": evaluate(request["expr"], Scope(context, now))}
    except ExpressionError as error:
        place = "" if error.column is None else f" (column {error.column})"
        return {"error": error.message + place}
