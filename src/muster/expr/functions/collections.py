"""Functions on lists. Null counts as an empty list, an object as the list of its values."""

import math
from collections.abc import Iterator
from functools import cmp_to_key

from muster.expr import limits
from muster.expr.convert import json_text, template_text
from muster.expr.errors import ExpressionError, LimitError
from muster.expr.functions.arguments import items_of, number_of, text_of
from muster.expr.operators import add, compare, finite
from muster.expr.paths import PlainPath, plain_path
from muster.model.json import Json


def join(items: Json, separator: Json = ",") -> Json:
    """The elements as one text, with a separator between them.

    >>> run("join({'a', 1, true}, '-')")
    'a-1-true'
    """
    parts, between = [template_text(item) for item in items_of(items)], text_of(separator)
    limits.allow_text(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def total(items: Json) -> Json:
    """The sum of numbers; 0 for none. Nulls are passed over.

    >>> run("sum({1, 2, 3})")
    6
    """
    result: Json = 0
    for number in _numbers(items):
        result = add(result, number)
    return result


def _numbers(items: Json) -> list[int | float]:
    return [number_of(item) for item in items_of(items) if item is not None]


def smallest(first: Json, *more: Json) -> Json:
    """The smallest of a list or of the arguments; null for none.

    >>> run("min({3, 1, 2})")
    1
    """
    return min(_candidates(first, more), key=cmp_to_key(compare), default=None)


def largest(first: Json, *more: Json) -> Json:
    """The largest of a list or of the arguments; null for none.

    >>> run("max(3, 1, 2)")
    3
    """
    return max(_candidates(first, more), key=cmp_to_key(compare), default=None)


def _candidates(first: Json, more: tuple[Json, ...]) -> list[Json]:
    return [item for item in ([first, *more] if more else items_of(first)) if item is not None]


def average(items: Json) -> Json:
    """The mean of numbers, with a fraction; null for none.

    >>> run("avg({1, 2})")
    1.5
    """
    numbers = _numbers(items)
    try:
        return finite(math.fsum(numbers) / len(numbers)) if numbers else None
    except (OverflowError, ValueError):
        raise ExpressionError("the numbers are too large to average", "EXPRESSION_ARITHMETIC") from None


def count(items: Json) -> Json:
    """How many elements there are; 0 for null.

    >>> run("count({1, 2, 3})")
    3
    """
    return len(items_of(items))


def distinct(items: Json) -> Json:
    """Each different element once, in the order of first sight.

    >>> run("distinct({1, 2, 1})")
    [1, 2]
    """
    seen: dict[tuple[type, Json], Json] = {}
    for item in items_of(items):
        seen.setdefault(_identity(item), item)
    return list(seen.values())


def _identity(value: Json) -> tuple[type, Json]:
    """Equal exactly when two values are the same, type included."""
    if isinstance(value, list | dict):
        return type(value), json_text(value, sort_keys=True)
    return type(value), value


def sort_by(items: Json, field: Json, direction: Json = "asc") -> Json:
    """The elements in the order of a field, given as a path; `'desc'` turns it round. Nulls come first.

    >>> run("sortBy({{n: 2}, {n: 1}}, 'n').![n]")
    [1, 2]
    """
    order, path = text_of(direction).lower(), plain_path(text_of(field))
    if order not in ("asc", "desc"):
        raise ExpressionError("the order is 'asc' or 'desc'", "EXPRESSION_TYPE")
    key = cmp_to_key(compare)
    return sorted(items_of(items), key=lambda item: key(_field(item, path)), reverse=order == "desc")


def _field(item: Json, path: PlainPath) -> Json:
    return path.lookup(item)[0]


def group_by(items: Json, field: Json) -> Json:
    """The elements by the text of a field, given as a path.

    >>> run("groupBy({{t: 'a', n: 1}, {t: 'b', n: 2}, {t: 'a', n: 3}}, 't')['a'].![n]")
    [1, 3]
    """
    path = plain_path(text_of(field))
    groups: dict[str, Json] = {}
    for item in items_of(items):
        value = _field(item, path)
        group = groups.setdefault("null" if value is None else template_text(value), [])
        assert isinstance(group, list)
        group.append(item)
    return groups


def flatten(items: Json) -> Json:
    """One list of everything in the lists within a list, at every depth.

    >>> run("flatten({1, {2, {3}}})")
    [1, 2, 3]
    """
    return list(_flat(items_of(items), 0))


def _flat(items: list[Json], depth: int) -> Iterator[Json]:
    if depth > limits.VALUE_DEPTH:
        raise LimitError(f"the list is nested deeper than {limits.VALUE_DEPTH}")
    for item in items:
        if type(item) is list:
            yield from _flat(item, depth + 1)
        else:
            yield item


def first(items: Json) -> Json:
    """The first element of a list or character of a text; null for none.

    >>> run("first({1, 2})")
    1
    """
    return next(iter(_sequence(items)), None)


def last(items: Json) -> Json:
    """The last element of a list or character of a text; null for none.

    >>> run("last({1, 2})")
    2
    """
    sequence = _sequence(items)
    return sequence[-1] if sequence else None


def _sequence(items: Json) -> list[Json] | str:
    return items if type(items) is str else items_of(items)
