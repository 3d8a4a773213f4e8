"""What functions expect of their arguments, and how they say so."""

from collections.abc import Mapping

from muster.expr.convert import kind_of
from muster.expr.errors import ExpressionError
from muster.model.json import Json


def wrong(expected: str, value: Json) -> ExpressionError:
    return ExpressionError(f"{expected} was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")


def text_of(value: Json) -> str:
    if type(value) is not str:
        raise wrong("a text", value)
    return value


def number_of(value: Json) -> int | float:
    if type(value) is int or type(value) is float:
        return value
    raise wrong("a number", value)


def items_of(value: Json) -> list[Json]:
    """The elements of a list, the values of an object; null has none."""
    if value is None:
        return []
    if type(value) is list:
        return value
    if isinstance(value, Mapping):
        return list(value.values())
    raise ExpressionError(f"a list was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")
