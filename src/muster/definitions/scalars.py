"""Single values as they are meant, however JSON or YAML happened to write them."""

from muster.model.json import Json


def as_id(value: Json) -> str | None:
    """An id as text; None if there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def as_whole(value: Json) -> int | None:
    """A whole number, which may be written as `5.0`; None if there is none."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
