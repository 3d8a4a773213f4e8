"""What methods expect of their targets and arguments, and how they say so."""

from collections.abc import Mapping

from muster.expr.convert import kind_of, spring_text
from muster.expr.errors import ExpressionError
from muster.model.json import Json

# What an argument is when it is left out, for those where null is something else.
UNSAID: Json = float("inf")


def wrong_target(method: str, target: Json) -> ExpressionError:
    return ExpressionError(f"{kind_of(target)} has no method `{method}()`", "EXPRESSION_TYPE")


def text_target(method: str, target: Json) -> str:
    if type(target) is not str:
        raise wrong_target(method, target)
    return target


def list_target(method: str, target: Json) -> list[Json]:
    if type(target) is not list:
        raise wrong_target(method, target)
    return target


def map_target(method: str, target: Json) -> Mapping[str, Json]:
    if not isinstance(target, Mapping):
        raise wrong_target(method, target)
    return target


def as_text(value: Json) -> str:
    """An argument that Java takes as a String: other values are converted, null is refused."""
    if value is None or isinstance(value, Mapping):
        raise ExpressionError(f"a text was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")
    return value if type(value) is str else spring_text(value)


def only_text(value: Json) -> str:
    """An argument that Java takes as characters: a text, or a list's first."""
    if type(value) is list and value:
        value = value[0]
    if type(value) is not str:
        raise ExpressionError(f"a text was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")
    return value


def within(start: int, end: int, length: int, what: str) -> None:
    if not 0 <= start <= end <= length:
        raise ExpressionError(f"that is not within {what} of {length}", "EXPRESSION_INDEX")


def sought(value: Json) -> str:
    """An argument that Java takes as a String or as a character's number, where it is plain which."""
    if type(value) is int and 0 <= value < 0x110000:
        return chr(value)
    if isinstance(value, float | list):
        raise ExpressionError(f"a text was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")
    return as_text(value)


def place(value: Json) -> int:
    """Where to look from: unlike elsewhere, nothing is converted."""
    if type(value) is not int:
        raise ExpressionError(f"a whole number was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")
    return value


def sole_argument(method: str, *more: Json) -> None:
    """A list's method of this name takes one argument, a text's may take another."""
    if any(value is not UNSAID for value in more):
        raise ExpressionError(f"a list's `{method}()` takes one argument", "EXPRESSION_TYPE")
