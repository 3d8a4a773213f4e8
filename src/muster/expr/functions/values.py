"""Functions on single values."""

import hashlib
import json as json_module
import math
import re
from decimal import ROUND_HALF_UP, Decimal

from muster.expr import limits
from muster.expr.convert import json_text, whole
from muster.expr.errors import ExpressionError, LimitError
from muster.expr.functions.arguments import number_of, text_of, wrong
from muster.expr.operators import finite
from muster.model.json import Json

# What could become half a character; the two halves of a whole one are found too.
_escaped_half = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]").search


def to_json(value: Json) -> Json:
    """A value as compact JSON text.

    >>> run("json({a: {1, null}})")
    '{"a":[1,null]}'
    """
    return json_text(value)


def parse_json(text: Json) -> Json:
    """The value that a JSON text holds.

    >>> run("parseJson('[1, 2]')[1]")
    2
    """
    source = text_of(text)
    limits.allow_text(len(source))
    try:
        value: Json = json_module.loads(source, parse_constant=_refuse_constant, parse_float=_fraction)
    except RecursionError:
        raise LimitError("the JSON is nested too deeply") from None
    except ValueError:
        raise ExpressionError("the text is not JSON", "EXPRESSION_TYPE") from None
    if _escaped_half(source):
        _refuse_halves(value)
    return value


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _fraction(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("larger than any number that can be kept")
    return number


def _refuse_halves(value: Json) -> None:
    """No database and no other program takes a text with half a character in it."""
    try:
        json_text(value).encode("utf-8")
    except UnicodeEncodeError:
        raise ExpressionError("the text holds half of a surrogate pair", "EXPRESSION_TYPE") from None


def digest(value: Json) -> Json:
    """The SHA-256 of a text, or of any other value's JSON with sorted keys, in hexadecimal.

    >>> run("hash('a').substring(0, 8)")
    'ca978112'
    """
    text = value if type(value) is str else json_text(value, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def default(value: Json, otherwise: Json) -> Json:
    """The first, or the second if the first is null.

    >>> run("default(null, 5)")
    5
    """
    return otherwise if value is None else value


def rounded(value: Json, digits: Json = None) -> Json:
    """A number rounded half away from zero: to a whole one, or to some digits.

    >>> run("round(2.675, 2)")
    2.68
    """
    number = number_of(value)
    places = 0 if digits is None else whole(digits)
    if not 0 <= places <= 15:
        raise ExpressionError("a number can be rounded to 0 to 15 digits", "EXPRESSION_ARITHMETIC")
    if type(number) is int:
        return number
    exact = Decimal(repr(finite(number)))
    if digits is not None and abs(exact) >= 10**15:
        return number
    nearest = (
        exact.to_integral_value(ROUND_HALF_UP)
        if not places
        else exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    )
    return int(nearest) if digits is None else float(nearest)


def absolute(value: Json) -> Json:
    """A number without its sign.

    >>> run("abs(-5)")
    5
    """
    return abs(number_of(value))


def number(value: Json) -> Json:
    """The number that a text holds; a number is itself.

    >>> run("number('12') + number('0.5')")
    12.5
    """
    if type(value) is int or type(value) is float:
        return value
    text = text_of(value).strip()
    if len(text) > limits.DIGITS:
        raise LimitError(f"a number may have {limits.DIGITS:,} digits at most")
    for read in (int, float):
        try:
            return finite(read(text)) if read is float else read(text)
        except ValueError:
            continue
    raise wrong("a number", value)
