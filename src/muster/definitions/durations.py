"""How long a setting says: `300s`, `5m`, `1h30m`, ISO 8601 (`PT5M`), or a number of seconds."""

import re
from datetime import timedelta

from muster import expr
from muster.expr import ExpressionError
from muster.model.json import Json

_LONGEST = timedelta(days=36_600)


def parse_duration(value: Json) -> timedelta:
    """The length of time that a setting gives. Raises `ValueError` with a sentence for the author."""
    digits = isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value) is not None
    try:
        length = expr.parse_duration(int(value) if isinstance(value, str) and digits else value)
    except (ExpressionError, ValueError):
        raise ValueError(
            f"`{value}` is not a length of time; write `300s`, `5m`, `PT5M` or a number of seconds."
        ) from None
    if not timedelta(0) <= length <= _LONGEST:
        raise ValueError(f"`{value}` is not between no time and a hundred years.")
    return length
