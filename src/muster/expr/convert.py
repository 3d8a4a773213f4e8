"""From one kind of value to another, as Spring converts them (`java_*`) and as templates print them."""

import json
import math
from collections.abc import Mapping

from muster.expr import limits
from muster.expr.errors import ExpressionError, LimitError
from muster.model.json import Json

_TRUE = {"true", "on", "yes", "1"}
_FALSE = {"false", "off", "no", "0"}


def kind_of(value: object) -> str:
    """What a value is, in a word for its author.

    No message shows a value itself: it may be a secret, and messages are logged and stored.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "a whole number"
        case float():
            return "a number with a fraction"
        case str():
            return "text"
        case list():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return "not a JSON value"


def boolean(value: Json) -> bool:
    """What a condition makes of a value: booleans, the words for them, a list's first.

    >>> boolean("yes"), boolean("off"), boolean(True)
    (True, False, True)
    """
    if value is True or value is False:
        return value
    if type(value) is str:
        word = value.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    if type(value) is list and value and type(value[0]) is not list:
        return boolean(value[0])
    raise ExpressionError(f"true or false was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")


def whole(value: Json) -> int:
    """A whole number from a number, a text of one or a list's first; fractions are cut off."""
    if type(value) is int:
        return value
    if type(value) is float and math.isfinite(value):
        return int(value)
    if type(value) is list and value and type(value[0]) is not list:
        return whole(value[0])
    if type(value) is str and len(value) <= limits.DIGITS:
        text = value.strip()
        try:
            return int(text, 16 if text.lower().lstrip("+-").startswith("0x") else 10)
        except ValueError:
            pass  # said below, as for any other value
    raise ExpressionError(f"a whole number was expected, and this is {kind_of(value)}", "EXPRESSION_TYPE")


def number_text(value: int) -> str:
    limits.allow_bits(value.bit_length())
    return str(value)


def java_text(value: Json, depth: int = 0) -> str:
    """A value as Java's `toString()` writes it.

    >>> java_text({"a": [1, None], "b": 1e10})
    '{a=[1, null], b=1.0E10}'
    """
    _check_depth(depth)
    if type(value) is str:
        return value
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if type(value) is int:
        return number_text(value)
    if type(value) is float:
        return _java_fraction(value)
    if isinstance(value, list):
        return "[" + _joined(", ", [java_text(item, depth + 1) for item in value]) + "]"
    if isinstance(value, Mapping):
        pairs = [f"{key}={java_text(item, depth + 1)}" for key, item in value.items()]
        return "{" + _joined(", ", pairs) + "}"
    raise ExpressionError("this is not a JSON value", "EXPRESSION_TYPE")


def spring_text(value: Json, depth: int = 0) -> str:
    """A value as Spring converts it to text: lists without brackets; an object in a list has no text.

    >>> spring_text([1, [2, None]])
    '1,2,null'
    """
    _check_depth(depth)
    if type(value) is not list:
        if depth and isinstance(value, Mapping):
            raise ExpressionError("a list of objects has no text (use `json(…)`)", "EXPRESSION_TYPE")
        return java_text(value)
    return _joined(",", [spring_text(item, depth + 1) for item in value])


def _joined(separator: str, parts: list[str]) -> str:
    limits.allow_text(sum(map(len, parts)) + len(parts) * len(separator))
    return separator.join(parts)


def _check_depth(depth: int) -> None:
    if depth > limits.VALUE_DEPTH:
        raise LimitError(f"the value is nested deeper than {limits.VALUE_DEPTH}")


def _java_fraction(value: float) -> str:
    """Java's spelling: plain between a thousandth and ten million, else with an exponent."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits, exponent = _scientific(digits)
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _scientific(plain: str) -> tuple[str, str]:
    """The digits of a plainly written number with one before the point, and its exponent."""
    sign = "-" if plain.startswith("-") else ""
    before, _, after = plain.lstrip("-").partition(".")
    digits = (before + after).lstrip("0")
    exponent = len(before) - 1 if before != "0" else -(len(after) - len(after.lstrip("0")) + 1)
    return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}", str(exponent)


def template_text(value: Json) -> str:
    """A value as it appears in the middle of a template's text.

    >>> [template_text(value) for value in (None, True, 3.0, 2.5, [1, "a"])]
    ['', 'true', '3', '2.5', '[1,"a"]']
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    if type(value) is int:
        return number_text(value)
    if type(value) is float:
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    return json_text(value)


def json_text(value: Json, sort_keys: bool = False) -> str:
    """Compact JSON. Refused before it is written if it would be too long."""
    if limits.weight(value) > limits.OUTPUT:
        raise LimitError(f"this would make more than {limits.OUTPUT:,} characters of JSON")
    plain = dict(value) if isinstance(value, Mapping) else value
    try:
        return json.dumps(
            plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys
        )
    except RecursionError:
        raise LimitError("the value is nested too deeply to be written as JSON") from None
    except (TypeError, ValueError):
        raise ExpressionError("this value cannot be written as JSON", "EXPRESSION_TYPE") from None
