"""How large a value may be: over 16 MiB of JSON it is refused, under a name that no retry mends."""

import json
from typing import TypeVar

import orjson

from muster.definitions.pointers import child
from muster.engine.handlers import Done, Outcome
from muster.engine.state import Failure
from muster.expr.limits import weight
from muster.model.json import Json, JsonObject
from muster.model.problems import AuthorError, Problem

LARGEST = 16 * 1024 * 1024
# A value that weighs less is not written out to be measured: numbers weigh 4 whatever their length, and a
# character has up to six bytes.
SURELY_SMALL = LARGEST // 8
TOO_LARGE = "ValueTooLarge"
Ended = TypeVar("Ended", bound=Outcome)


class ValueTooLarge(AuthorError):
    """A value that was given is larger than any may be."""

    def __init__(self, name: str, size: int, pointer: str) -> None:
        told = f"the value is {size:,} bytes of JSON; at most {LARGEST:,} can be kept"
        super().__init__(Problem("VALUE_TOO_LARGE", child(pointer, name), told))


def size_if_too_large(value: Json, aside: int = 0) -> int | None:
    """Its size in bytes of JSON, if that is too much. Costs little for what is small. So many bytes of it are
    `aside`, and have only marks in it."""
    if aside <= SURELY_SMALL and (not value or weight(value, SURELY_SMALL) <= SURELY_SMALL):
        return None
    own = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass"))
    return own + aside if own + aside > LARGEST else None


def too_large(value: Json, whose: str, aside: int = 0) -> Failure | None:
    """Why a value cannot be kept as an output; None: it can."""
    size = size_if_too_large(value, aside)
    if size is None:
        return None
    return Failure(
        TOO_LARGE, f"{whose}: its output is {size:,} bytes of JSON; at most {LARGEST:,} can be kept"
    )


def check_context(context: JsonObject, pointer: str = "/context") -> JsonObject:
    """The context, if every value of it can be kept. It came at `pointer`. Raises `ValueTooLarge`."""
    if _is_surely_small(context):
        return context
    for name, value in context.items():
        if (size := size_if_too_large(value)) is not None:
            raise ValueTooLarge(name, size, pointer)
    return context


def _is_surely_small(value: JsonObject) -> bool:
    try:
        return len(orjson.dumps(value)) <= SURELY_SMALL
    except TypeError:  # a number of many digits, say
        return weight(value, SURELY_SMALL) <= SURELY_SMALL


def bounded(outcome: Ended, node: str) -> Ended | Failure:
    """The outcome, or a failure that names the node whose output is too large."""
    output = None if isinstance(outcome, Failure) else outcome.output
    refused = too_large(output, node)
    if refused is None and isinstance(outcome, Done) and outcome.changes != output:
        refused = too_large(outcome.changes, node)
    return refused or outcome
