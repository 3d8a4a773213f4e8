"""What a call costs, charged before it is made: the same work costs the same whatever it is called."""

from collections.abc import Mapping

from muster.expr import patterns
from muster.expr.limits import CHARACTERS_PER_OPERATION, ITEMS_PER_OPERATION, Frame
from muster.model.json import Json

# These look at no more than one element, or only at the length.
_FREE = {
    "size",
    "isEmpty",
    "get",
    "getOrDefault",
    "containsKey",
    "length",
    "charAt",
    "count",
    "first",
    "last",
    "default",
}
# These look at everything that their operands hold.
_DEEP = {
    *("contains", "containsValue", "indexOf", "lastIndexOf", "equals", "toString", "concat"),
    *("json", "hash", "distinct", "flatten", "join", "groupBy", "sortBy", "min", "max"),
}
_PATTERN = {"matches": False, "split": True, "replaceAll": True, "replaceFirst": True}


def charge_call(frame: Frame, name: str, operands: list[Json]) -> None:
    """Pay for a function's or a method's work on its operands (a method's target comes first)."""
    if name in _FREE:
        return
    if name in _PATTERN:
        _charge_pattern(frame, name, operands)
    elif name == "containsAll":
        _charge_product(frame, operands)
    for operand in operands:
        if name in _DEEP or type(operand) is str:
            frame.spend_on(operand)
        elif isinstance(operand, list | Mapping):
            frame.spend(len(operand) // ITEMS_PER_OPERATION)


def _charge_pattern(frame: Frame, name: str, operands: list[Json]) -> None:
    text, pattern = operands[0], operands[1]
    if type(text) is str and type(pattern) is str:
        frame.spend(patterns.cost(text, pattern, _PATTERN[name]))


def _charge_product(frame: Frame, operands: list[Json]) -> None:
    items, others = operands[0], operands[1]
    if type(items) is list and type(others) is list:
        frame.spend(len(items) * len(others) // ITEMS_PER_OPERATION)
        frame.spend_on(others)


def charge_result(frame: Frame, value: Json) -> Json:
    """Pay for keeping what a call made."""
    if type(value) is str:
        if len(value) > CHARACTERS_PER_OPERATION:
            frame.spend(len(value) // CHARACTERS_PER_OPERATION)
    elif isinstance(value, list | dict):
        frame.spend(len(value) // ITEMS_PER_OPERATION)
    return value
