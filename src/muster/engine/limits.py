"""How many executions of a workflow may be under way at once, and which of them count together."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from muster.engine.openings import Limit
from muster.expr import ExpressionError, Scope, Template, compile_template, to_text
from muster.model.json import JsonObject
from muster.model.problems import AuthorError, Problem


class BadConcurrencyKey(AuthorError):
    """The key of a workflow's concurrency limit cannot be computed from what it is started with; the message
    says why, and `pointer` where that is in what was sent."""

    def __init__(self, error: ExpressionError, pointer: str = "") -> None:
        told = f"The workflow's concurrency key: {error}"
        super().__init__(Problem("BAD_CONCURRENCY_KEY", pointer, told))
        self._error = error

    def at(self, pointer: str) -> "BadConcurrencyKey":
        return BadConcurrencyKey(self._error, pointer)


@dataclass(frozen=True, slots=True)
class Concurrency:
    """What a definition says of it. Without a key all executions of the workflow count together."""

    key: Template
    most: int


def compile_concurrency(given: JsonObject | None) -> Concurrency | None:
    most = None if given is None else given.get("limit")
    if given is None or not isinstance(most, int):
        return None
    return Concurrency(compile_template(given.get("key", "")), most)


def limit_of(
    concurrency: Concurrency | None, workflow_id: str, context: JsonObject, now: datetime
) -> Limit | None:
    """The limit that an execution of this workflow is under when it starts with this context. Raises
    `BadConcurrencyKey`."""
    if concurrency is None:
        return None
    try:
        key = to_text(concurrency.key.resolve(Scope(context, now, workflow_id)))
    except ExpressionError as error:
        raise BadConcurrencyKey(error) from None
    # A digest, since a key may be of any length. Each workflow counts its own.
    return Limit(hashlib.sha256(f"{workflow_id}\n{key}".encode()).hexdigest(), concurrency.most)
