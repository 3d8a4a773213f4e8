"""Fields of an object by their paths: set, left out, picked. What is given stays as it is; copies change."""

from collections.abc import Iterable
from typing import TypeAlias

from muster.expr import ExpressionError
from muster.expr.paths import PlainPath, plain_path
from muster.model.json import Json, JsonObject
from muster.nodes.resolved import BadParameter, texts_of

Steps: TypeAlias = tuple[str | int, ...]


def with_field(value: JsonObject, steps: Steps, new: Json) -> JsonObject:
    """The object with this field set. What is missing or null on the way becomes an object.

    Raises `BadParameter` where something else is in the way.
    """
    step = steps[0]
    assert isinstance(step, str), "the path of a field begins with a name"
    return {**value, step: _with(value.get(step), steps, 1, new)}


def _with(value: Json, steps: Steps, at: int, new: Json) -> Json:
    if at == len(steps):
        return new
    step = steps[at]
    if isinstance(step, int):
        if not isinstance(value, list) or not -len(value) <= step < len(value):
            raise BadParameter(f"there is no list with a place {step} in it")
        changed = list(value)
        changed[step] = _with(value[step], steps, at + 1, new)
        return changed
    inner: Json = {} if value is None else value
    if not isinstance(inner, dict):
        raise BadParameter(f"`{steps[at - 1]}` is no object, so `{step}` cannot be set in it")
    return {**inner, step: _with(inner.get(step), steps, at + 1, new)}


def without_fields(value: JsonObject, paths: Iterable[Steps]) -> JsonObject:
    """The object without these fields; those that it does not have are no matter."""
    for steps in paths:
        value = _without(value, steps)
    return value


def _without(value: JsonObject, steps: Steps) -> JsonObject:
    name, rest = str(steps[0]), steps[1:]
    inner = value.get(name)
    if rest and isinstance(inner, dict):
        return {**value, name: _without(inner, rest)}
    return value if rest else {key: each for key, each in value.items() if key != name}


def only_fields(value: JsonObject, paths: Iterable[Steps]) -> JsonObject:
    """An object of these fields alone, as far as they are there."""
    picked: JsonObject = {}
    for steps in paths:
        found, is_there = PlainPath(steps).lookup(value)
        if is_there:
            picked = with_field(picked, steps, found)
    return picked


def field_paths(value: Json, name: str) -> tuple[Steps, ...]:
    """Paths from one text or a list of them. Raises `BadParameter`, naming the parameter."""
    return tuple(_names(text, name) for text in texts_of(value, name))


def _names(text: str, name: str) -> Steps:
    try:
        steps = plain_path(text).steps
    except ExpressionError as error:
        raise BadParameter(f"`{name}`: {error.message}") from None
    if any(isinstance(step, int) for step in steps):
        raise BadParameter(f"`{name}` takes the names of fields, and no places in a list")
    return steps
