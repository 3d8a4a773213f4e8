"""Methods that several kinds of value have."""

from collections.abc import Mapping

from muster.expr.convert import java_text, kind_of, whole
from muster.expr.errors import ExpressionError
from muster.expr.methods.targets import (
    UNSAID,
    as_text,
    only_text,
    place,
    sole_argument,
    sought,
    text_target,
    wrong_target,
)
from muster.expr.methods.text import text_distance
from muster.expr.operators import compare, same
from muster.model.json import Json


def contains(target: Json, part: Json) -> Json:
    """Whether a text contains another, or a list an element.

    >>> run("{1, 2}.contains(2)")
    True
    """
    if type(target) is list:
        return any(same(item, part) for item in target)
    return only_text(part) in text_target("contains", target)


def index_of(target: Json, part: Json, start: Json = UNSAID) -> Json:
    """Where a part of the text, or an element of the list, is first found; -1 if it is not.

    >>> run("'hello'.indexOf('l')")
    2
    """
    if type(target) is list:
        sole_argument("indexOf", start)
        return next((at for at, item in enumerate(target) if same(item, part)), -1)
    text, wanted = text_target("indexOf", target), sought(part)
    return text.find(wanted, min(max(0 if start is UNSAID else place(start), 0), len(text)))


def last_index_of(target: Json, part: Json, start: Json = UNSAID) -> Json:
    """Where a part of the text, or an element of the list, is last found; -1 if it is not.

    >>> run("'hello'.lastIndexOf('l')")
    3
    """
    if type(target) is list:
        sole_argument("lastIndexOf", start)
        return next((at for at in range(len(target) - 1, -1, -1) if same(target[at], part)), -1)
    text, wanted = text_target("lastIndexOf", target), sought(part)
    start_at = len(text) if start is UNSAID else place(start)
    return -1 if start_at < 0 else text.rfind(wanted, 0, min(start_at, len(text)) + len(wanted))


def is_empty(target: Json) -> Json:
    """Whether a text, a list or an object has nothing in it.

    >>> run("''.isEmpty()")
    True
    """
    if type(target) is str or type(target) is list or isinstance(target, Mapping):
        return not len(target)
    raise wrong_target("isEmpty", target)


def equals(target: Json, other: Json) -> Json:
    """Whether two values are the same, type included: `1.equals(1.0)` is false.

    >>> run("'a'.equals('a')")
    True
    """
    return same(target, other)


def compare_to(target: Json, other: Json) -> Json:
    """Less than, equal to or greater than zero, as the target comes before, with or after the other.

    >>> run("'a'.compareTo('b')")
    -1
    """
    match target:
        case str():
            return text_distance(target, as_text(other))
        case bool() if isinstance(other, bool):
            return compare(target, other)
        case int() if not isinstance(target, bool):
            return compare(target, whole(other))
        case float() if type(other) is float or type(other) is int:
            return compare(target, other)
    raise ExpressionError(f"{kind_of(target)} cannot be compared with {kind_of(other)}", "EXPRESSION_TYPE")


def to_string(target: Json) -> Json:
    """Any value as Java writes it.

    >>> run("{1, 2}.toString()")
    '[1, 2]'
    """
    if target is None:
        raise wrong_target("toString", target)
    return java_text(target)


def int_value(target: Json) -> Json:
    """The whole part of a number.

    >>> run("(7.9).intValue()")
    7
    """
    if type(target) is not int and type(target) is not float:
        raise wrong_target("intValue", target)
    return whole(target)


def double_value(target: Json) -> Json:
    """A number as one with a fraction.

    >>> run("(7).doubleValue()")
    7.0
    """
    if type(target) is not int and type(target) is not float:
        raise wrong_target("doubleValue", target)
    try:
        return float(target)
    except OverflowError:
        raise ExpressionError("the number is too large for a fraction", "EXPRESSION_ARITHMETIC") from None
