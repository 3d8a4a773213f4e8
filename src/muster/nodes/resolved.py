"""Reading resolved parameters: an expression may have given anything, whatever the schema hoped for."""

from collections.abc import Mapping
from datetime import datetime

from muster.definitions.durations import parse_duration
from muster.expr import ExpressionError, to_text
from muster.expr.convert import kind_of
from muster.model.json import Json, JsonView


class BadParameter(ValueError):
    """A parameter's value cannot be used; the message names it and says what was expected."""


def text_of(value: Json, name: str) -> str | None:
    """A text; numbers and flags as templates print them, null as none. Raises `BadParameter`."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        raise BadParameter(f"`{name}` is {kind_of(value)}, where text was expected")
    try:
        return to_text(value)
    except ExpressionError as error:
        raise BadParameter(f"`{name}`: {error}") from None


def bytes_of(text: str, name: str) -> bytes:
    """Raises `BadParameter`."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadParameter(f"`{name}` holds half a surrogate pair, which is no text") from None


def texts_of(value: Json, name: str) -> tuple[str, ...]:
    """One text, or a list of them; null and empty ones count as none. Raises `BadParameter`."""
    values = value if isinstance(value, list) else [value]
    found = [text_of(each, name) for each in values]
    return tuple(text for text in found if text and text.strip())


def object_of(value: Json, name: str) -> JsonView:
    """An object; null as an empty one. Raises `BadParameter`."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadParameter(f"`{name}` is {kind_of(value)}, where an object was expected")
    return value


def deadline_of(params: JsonView, now: datetime) -> datetime | None:
    """When the `timeout` that is given there is over; None: never. Raises `BadParameter`."""
    given = params.get("timeout")
    if given is None:
        return None
    try:
        return now + parse_duration(given)
    except (ValueError, OverflowError) as error:
        raise BadParameter(f"`timeout`: {error}") from None


def field_of_item(root: Mapping[str, Json], name: str) -> Json:
    """What the item that is being worked on has under this name."""
    item = root.get("item")
    return item.get(name) if isinstance(item, dict) else None
