"""What methods expect of their targets and arguments, and how they say so."""

from collections.abc import Mapping

from muster.expr.convert import kind_of, shown, spring_text
from muster.expr.errors import ExpressionError
from muster.model.json import Json


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
    if value is None:
        raise ExpressionError("a text was expected, and this is null", "EXPRESSION_TYPE")
    return value if type(value) is str else spring_text(value)


def only_text(value: Json) -> str:
    """An argument that Java takes as characters: nothing is converted."""
    if type(value) is not str:
        raise ExpressionError(f"a text was expected, and this is {shown(value)}", "EXPRESSION_TYPE")
    return value


def within(start: int, end: int, length: int, what: str) -> None:
    if not 0 <= start <= end <= length:
        raise ExpressionError(f"{start} to {end} is not within {what} of {length}", "EXPRESSION_INDEX")
