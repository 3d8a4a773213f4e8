"""What one expression may use, and how that is counted.

An operation is about as much work as one operator. Straight-line code is bounded by its size, which the
parser counts; loops, long texts and large collections are charged where they happen, before the work is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from muster.expr.errors import LimitError
from muster.model.json import Json

SOURCE = 64 * 1024
DEPTH = 64
OPERATIONS = 10_000
OUTPUT = 1024 * 1024
DIGITS = 1_000
BITS = 3_322  # what 1,000 digits need
VALUE_DEPTH = 200
PATTERN = 1_000

CHARACTERS_PER_OPERATION = 1024
ITEMS_PER_OPERATION = 16
WEIGHT_PER_OPERATION = 64

Current: TypeAlias = "Json | Mapping[str, Json]"


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression sees.

    `identity` names the place it is evaluated at (execution, node, visit, field): `uuid()` derives from it,
    so two places need two identities. A template's own strings are told apart by where they stand in it.
    """

    root: Mapping[str, Json]
    now: datetime
    identity: str = ""


class Frame:
    """The state of one evaluation: what names mean at this point, and the operations that are left."""

    __slots__ = ("calls", "element", "left", "root", "scope", "this")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.root = self.this = self.element = scope.root
        self.left = OPERATIONS
        self.calls = 0

    # What bare names are read from, and what they are read from in a method's arguments.
    this: Current
    element: Current

    def spend(self, operations: int) -> None:
        """Take from what is left, or refuse."""
        self.left -= operations
        if self.left < 0:
            raise LimitError(f"this takes more than {OPERATIONS:,} operations")

    def spend_on(self, value: object) -> None:
        """Pay for looking through a value: texts by their length, collections by all that is in them."""
        if type(value) is str:
            self.spend(len(value) // CHARACTERS_PER_OPERATION)
        elif isinstance(value, list | Mapping):
            most = (self.left + 1) * WEIGHT_PER_OPERATION
            self.spend(weight(value, most) // WEIGHT_PER_OPERATION)


def allow_text(length: int) -> None:
    """Refuse a text before it is built."""
    if length > OUTPUT:
        raise LimitError(f"this would make a text of more than {OUTPUT:,} characters")


def allow_bits(bits: int) -> None:
    """Refuse a whole number before it is computed."""
    if bits > BITS:
        raise LimitError(f"this would make a number of more than {DIGITS:,} digits")


_PLAIN = frozenset((int, float, bool, type(None)))


def weight(value: object, most: int = OUTPUT) -> int:
    """About how many characters a value takes as JSON; counting ends soon after `most`."""
    total = 0
    waiting = [value]
    while waiting and total <= most:
        part = waiting.pop()
        if type(part) in _PLAIN:  # first: most are, and to ask for a `Mapping` takes long
            total += 4
        elif type(part) is str:
            total += len(part) + 2
        elif type(part) is list:
            total += 2 + len(part)
            waiting.extend(part if len(part) <= most else part[:most])
        elif type(part) is dict or isinstance(part, Mapping):
            total += 2 + sum(map(len, part)) + 4 * len(part)
            waiting.extend(part.values())
        else:
            total += 4
    return total


def allow_output(value: Json) -> Json:
    """The value, if it is small enough to be handed on."""
    if weight(value) > OUTPUT:
        raise LimitError(f"the result is larger than {OUTPUT:,} characters")
    return value
