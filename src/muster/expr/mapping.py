"""Where in received data an output is found: JSONPath (RFC 9535), or a plain path."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from muster.expr.paths import plain_path
from muster.model.json import Json


@dataclass(frozen=True, slots=True)
class OutputPath:
    """A compiled path. One that can name a single value at most gives that value, any other a list of all."""

    text: str
    _lookup: Callable[[Json], tuple[Json, bool]] = field(compare=False, repr=False)

    def find(self, data: Json) -> Json:
        """What the path names in the data; None when nothing is there."""
        return self._lookup(data)[0]

    def lookup(self, data: Json) -> tuple[Json, bool]:
        """What the path names, and whether it names anything: a null that is there is (None, True)."""
        return self._lookup(data)


@lru_cache(maxsize=1024)
def compile_mapping(value: str) -> OutputPath:
    """Compile an output mapping's value. Raises `ExpressionSyntaxError`."""
    if value == "$" or value.startswith(("$.", "$[")):
        from muster.expr.queries import compile_query  # here: most expressions start without that library

        return OutputPath(value, compile_query(value))
    return OutputPath(value, plain_path(value).lookup)
