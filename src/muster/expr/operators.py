"""What the operators mean: Java's arithmetic and Spring's comparisons, on JSON values."""

import math
from collections.abc import Callable, Mapping

from muster.expr import limits
from muster.expr.convert import kind_of, spring_text
from muster.expr.errors import ExpressionError, LimitError
from muster.model.json import Json

# Below this, neither a sum nor a product can be too long: the usual case is told by two comparisons.
_SMALL = 2**1600


def _is_number(value: Json) -> bool:
    return type(value) is int or type(value) is float


def _unsupported(symbol: str, left: Json, right: Json) -> ExpressionError:
    return ExpressionError(
        f"`{symbol}` does not work between {kind_of(left)} and {kind_of(right)}", "EXPRESSION_TYPE"
    )


def finite(value: float) -> float:
    if not math.isfinite(value):
        raise ExpressionError("the result is not a finite number", "EXPRESSION_ARITHMETIC")
    return value


def _fractions(left: Json, right: Json) -> tuple[float, float] | None:
    """Both as fractions, if both are numbers."""
    try:
        if (type(left) is float or type(left) is int) and (type(right) is float or type(right) is int):
            return float(left), float(right)
        return None
    except OverflowError:
        raise ExpressionError(
            "the number is too large to reckon with fractions", "EXPRESSION_ARITHMETIC"
        ) from None


def add(left: Json, right: Json) -> Json:
    """A sum, or a text if either side is one: then the other becomes text too, and `null` is 'null'."""
    if type(left) is int and type(right) is int:
        return left + right
    if type(left) is float and type(right) is float:
        return finite(left + right)
    if type(left) is str or type(right) is str:
        first = left if type(left) is str else spring_text(left)
        second = right if type(right) is str else spring_text(right)
        limits.allow_text(len(first) + len(second))
        return first + second
    pair = _fractions(left, right)
    if pair is None:
        raise _unsupported("+", left, right)
    return finite(pair[0] + pair[1])


def subtract(left: Json, right: Json) -> Json:
    """A difference; of a single character and a whole number, the character that far before it."""
    if type(left) is int and type(right) is int:
        return left - right
    if type(left) is str and type(right) is int and len(left) == 1:
        return (
            chr((ord(left) - right) % 0x10000).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    pair = _fractions(left, right)
    if pair is None:
        raise _unsupported("-", left, right)
    return finite(pair[0] - pair[1])


def multiply(left: Json, right: Json) -> Json:
    """A product; of a text and a whole number, the text that many times."""
    if type(left) is int and type(right) is int:
        if not (-_SMALL < left < _SMALL and -_SMALL < right < _SMALL):
            limits.allow_bits(left.bit_length() + right.bit_length())
        return left * right
    if type(left) is str and type(right) is int:
        return repeat(left, right)
    pair = _fractions(left, right)
    if pair is None:
        raise _unsupported("*", left, right)
    return finite(pair[0] * pair[1])


def repeat(text: str, count: int) -> str:
    if count < 0:
        raise ExpressionError("a text cannot be repeated less than 0 times", "EXPRESSION_ARITHMETIC")
    limits.allow_text(len(text) * count)
    return text * count if text else ""  # no count is too large for nothing


def divide(left: Json, right: Json) -> Json:
    """A quotient; of whole numbers the whole part, cut towards zero."""
    if type(left) is int and type(right) is int:
        _refuse_zero(right)
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    pair = _fractions(left, right)
    if pair is None:
        raise _unsupported("/", left, right)
    _refuse_zero(pair[1])
    return finite(pair[0] / pair[1])


def remainder(left: Json, right: Json) -> Json:
    """What a division leaves, with the sign of the left side."""
    if type(left) is int and type(right) is int:
        _refuse_zero(right)
        rest = abs(left) % abs(right)
        return rest if left >= 0 else -rest
    pair = _fractions(left, right)
    if pair is None:
        raise _unsupported("%", left, right)
    _refuse_zero(pair[1])
    return math.fmod(finite(pair[0]), finite(pair[1]))


def _refuse_zero(value: float) -> None:
    if value == 0:
        raise ExpressionError("a number cannot be divided by zero", "EXPRESSION_ARITHMETIC")


def power(left: Json, right: Json) -> Json:
    """A power; of whole numbers a whole one, so that a negative exponent cuts it to zero (or ±1)."""
    if type(left) is int and type(right) is int:
        return _whole_power(left, right)
    pair = _fractions(left, right)
    if pair is None:
        raise _unsupported("^", left, right)
    try:
        return finite(math.pow(*pair))
    except (OverflowError, ValueError):
        raise ExpressionError("the power is not a finite number", "EXPRESSION_ARITHMETIC") from None


def _whole_power(base: int, exponent: int) -> int:
    if abs(base) <= 1:
        if base == 0 and exponent < 0:
            _refuse_zero(base)
        return 1 if base == 1 or (exponent % 2 == 0 and (base != 0 or exponent == 0)) else base
    if exponent < 0:
        return 0
    # Told before multiplying: the exponent alone can be larger than any allowed number of bits.
    limits.allow_bits((base.bit_length() - 1) * min(exponent, limits.BITS + 1))
    return int(base**exponent)


def negate(value: Json) -> Json:
    if type(value) is int or type(value) is float:
        return 0 - value
    raise ExpressionError(f"`-` does not work on {kind_of(value)}", "EXPRESSION_TYPE")


def positive(value: Json) -> Json:
    if type(value) is int or type(value) is float:
        return value
    raise ExpressionError(f"`+` does not work on {kind_of(value)}", "EXPRESSION_TYPE")


def equal(left: Json, right: Json) -> bool:
    """Spring's `==`: numbers by value whatever their type, anything else strictly."""
    if _is_number(left) and _is_number(right):
        return left == right
    return same(left, right)


def same(left: Json, right: Json, depth: int = 0) -> bool:
    """Java's `equals`: 1, 1.0, true and '1' are all different, at every depth."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        _check_depth(depth)
        return left.keys() == right.keys() and all(
            same(item, right[key], depth + 1) for key, item in left.items()
        )
    if type(left) is not type(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        _check_depth(depth)
        return len(left) == len(right) and all(
            same(a, b, depth + 1) for a, b in zip(left, right, strict=True)
        )
    return left == right


def _check_depth(depth: int) -> None:
    if depth > limits.VALUE_DEPTH:
        raise LimitError(f"the value is nested deeper than {limits.VALUE_DEPTH}")


def compare(left: Json, right: Json) -> int:
    """Less than, equal to or greater than zero. `null` comes before everything."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    if type(left) is bool and type(right) is bool:
        return left - right
    if type(left) is str and type(right) is str:
        return (left > right) - (left < right)
    if (type(left) is int or type(left) is float) and (type(right) is int or type(right) is float):
        return (left > right) - (left < right)
    raise ExpressionError(f"{kind_of(left)} cannot be compared with {kind_of(right)}", "EXPRESSION_TYPE")


def between(value: Json, ends: Json) -> bool:
    """Whether a value lies between the two of a list, ends included."""
    if type(ends) is not list or len(ends) != 2:
        raise ExpressionError(
            "`between` needs a list of two on its right: `x between {1, 5}`", "EXPRESSION_TYPE"
        )
    return compare(value, ends[0]) >= 0 and compare(value, ends[1]) <= 0


def is_blank_for_elvis(value: Json) -> bool:
    """Elvis passes over null and the empty text, and nothing else."""
    return value is None or value == ""


ARITHMETIC: Mapping[str, Callable[[Json, Json], Json]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "^": power,
}
