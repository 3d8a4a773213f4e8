"""Plain paths into JSON: `customer.addresses[0].city`, for mappings and for functions that take a field."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from muster.expr.errors import ExpressionSyntaxError
from muster.model.json import Json

_LONGEST = 1_000
_STEP = re.compile(r"\.?([^.\[\]'\"]+)|\[(-?[0-9]{1,9})\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")


@dataclass(frozen=True, slots=True)
class PlainPath:
    """Keys and places, one after the other. A place below 0 counts from the end."""

    steps: tuple[str | int, ...]

    def lookup(self, data: Json) -> tuple[Json, bool]:
        """The value and whether it is there: (None, False) when any step of the way is missing."""
        for step in self.steps:
            if isinstance(step, int):
                if not isinstance(data, list) or not -len(data) <= step < len(data):
                    return None, False
                data = data[step]
            elif isinstance(data, Mapping) and step in data:
                data = data[step]
            else:
                return None, False
        return data, True


@lru_cache(maxsize=1024)
def plain_path(text: str) -> PlainPath:
    """Read a path. Raises with the column of the first character that belongs to none."""
    if len(text) > _LONGEST:
        raise ExpressionSyntaxError(f"a path may have {_LONGEST:,} characters at most")
    steps: list[str | int] = []
    at = 0
    while at < len(text) or not steps:
        found = _STEP.match(text, at)
        if found is None or (at == 0 and text.startswith(".")):
            raise ExpressionSyntaxError("this is not a path such as `customer.addresses[0].city`", at + 1)
        name, place, single, double = found.groups()
        steps.append(
            int(place) if place is not None else next(k for k in (name, single, double) if k is not None)
        )
        at = found.end()
    return PlainPath(tuple(steps))


def context_path(text: str) -> PlainPath:
    """A name or path in a context, with or without `$.` before it."""
    return plain_path(text.removeprefix("$."))
