"""Methods of lists and objects."""

from collections.abc import Mapping

from muster.expr.convert import java_text, kind_of, whole
from muster.expr.errors import ExpressionError
from muster.expr.methods.targets import list_target, map_target, within, wrong_target
from muster.expr.operators import same
from muster.model.json import Json


def size(target: Json) -> Json:
    """How many elements a list, or entries an object, has.

    >>> run("{1, 2, 3}.size()")
    3
    """
    if type(target) is list or isinstance(target, Mapping):
        return len(target)
    raise wrong_target("size", target)


def get(target: Json, key: Json) -> Json:
    """A list's element by its place, or an object's value by its key (null if it has none).

    >>> run("{'a', 'b'}.get(1)")
    'b'
    """
    if type(target) is not list:
        return map_target("get", target).get(_key(key))
    place = whole(key)
    within(place, place + 1, len(target), "a list")
    return target[place]


def _key(value: Json) -> str:
    return value if type(value) is str else java_text(value)


def sub_list(target: Json, start: Json, end: Json) -> Json:
    """The elements from `start` up to, not including, `end`.

    >>> run("{1, 2, 3}.subList(0, 2)")
    [1, 2]
    """
    items, first, last = list_target("subList", target), whole(start), whole(end)
    within(first, last, len(items), "a list")
    return items[first:last]


def contains_all(target: Json, others: Json) -> Json:
    """Whether the list has every element of another.

    >>> run("{1, 2, 3}.containsAll({3, 1})")
    True
    """
    items = list_target("containsAll", target)
    if type(others) is not list:
        raise ExpressionError(f"a list was expected, and this is {kind_of(others)}", "EXPRESSION_TYPE")
    return all(any(same(item, other) for item in items) for other in others)


def get_or_default(target: Json, key: Json, otherwise: Json) -> Json:
    """An object's value by its key, or another if it has none.

    >>> run("{a: 1}.getOrDefault('b', 0)")
    0
    """
    return map_target("getOrDefault", target).get(_key(key), otherwise)


def contains_key(target: Json, key: Json) -> Json:
    """Whether an object has a key.

    >>> run("{a: 1}.containsKey('a')")
    True
    """
    return _key(key) in map_target("containsKey", target)


def contains_value(target: Json, value: Json) -> Json:
    """Whether an object has a value under any key.

    >>> run("{a: 1}.containsValue(1)")
    True
    """
    return any(same(item, value) for item in map_target("containsValue", target).values())


def key_set(target: Json) -> Json:
    """An object's keys.

    >>> run("{a: 1, b: 2}.keySet()")
    ['a', 'b']
    """
    return list(map_target("keySet", target))


def values(target: Json) -> Json:
    """An object's values.

    >>> run("{a: 1, b: 2}.values()")
    [1, 2]
    """
    return list(map_target("values", target).values())


def entry_set(target: Json) -> Json:
    """An object's entries, each with its `key` and `value`.

    >>> run("{a: 1}.entrySet().![key]")
    ['a']
    """
    return [{"key": key, "value": value} for key, value in map_target("entrySet", target).items()]
