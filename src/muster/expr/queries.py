"""JSONPath (RFC 9535), each query bounded by the nodes that it visits."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, TypeAlias, cast

import jsonpath
from jsonpath.filter import BaseExpression, FilterQuery
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.selectors import Filter as FilterSelector

from muster.expr import patterns
from muster.expr.errors import ExpressionError, ExpressionSyntaxError, LimitError
from muster.model.json import Json

Lookup: TypeAlias = Callable[[Json], tuple[Json, bool]]

_LONGEST = 4 * 1024
_NODES = 20_000

_left: ContextVar[list[int]] = ContextVar("nodes that a query may still visit")


class _CountedMatch(jsonpath.JSONPathMatch):
    """Every node that a query visits passes here, so here they are counted."""

    __slots__ = ()

    def __init__(self, **parts: object) -> None:
        left = _left.get()
        left[0] -= 1
        if left[0] < 0:
            raise LimitError(f"the path visits more than {_NODES:,} values")
        super().__init__(**parts)  # type: ignore[arg-type]  # handed on as they came


class _CountedPath(jsonpath.JSONPath):
    """A query whose nodes are counted, and whose data is taken as it is: a text is not read as JSON."""

    def finditer(self, data: Any, *, filter_context: Any = None) -> Iterable[jsonpath.JSONPathMatch]:
        root = _CountedMatch(filter_context={}, obj=data, parent=None, path="$", parts=(), root=data)
        nodes: Iterable[jsonpath.JSONPathMatch] = [root]
        for segment in self.segments:
            nodes = segment.resolve(nodes)
        return nodes


def _counted(path: jsonpath.JSONPath) -> _CountedPath:
    """The same query, counting its own nodes and those of every query in its filters."""
    selectors = [selector for segment in path.segments for selector in segment.selectors]
    for selector in selectors:
        if isinstance(selector, FilterSelector):
            _count_within(selector.expression)
    return _CountedPath(env=path.env, segments=path.segments)


def _count_within(expression: BaseExpression) -> None:
    if isinstance(expression, FilterQuery):
        expression.path = _counted(expression.path)
    else:
        for child in expression.children():
            _count_within(child)


class _Pattern(FilterFunction):
    """RFC 9535's `match` and `search` on the linear-time engine; a bad pattern matches nothing."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012  # the base class's attribute
    return_type = ExpressionType.LOGICAL

    def __init__(self, around: str) -> None:
        self._around = around

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        try:
            return patterns.matches(value, f"{self._around}(?:{pattern}){self._around}")
        except ExpressionError:
            return False


class _Queries(jsonpath.JSONPathEnvironment):
    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _Pattern("")
        self.function_extensions["search"] = _Pattern("(?s:.*)")


_queries = _Queries(strict=True)


def compile_query(text: str) -> Lookup:
    """What a query names in given data, and whether it names anything. Raises `ExpressionSyntaxError`."""
    if len(text) > _LONGEST:
        raise ExpressionSyntaxError(f"a path may have {_LONGEST:,} characters at most")
    try:
        path = _queries.compile(text)
    except (jsonpath.JSONPathError, RecursionError) as error:
        token = error.token if isinstance(error, jsonpath.JSONPathError) else None
        # The library's end of the text is at -1.
        column = None if token is None else (token.index if token.index >= 0 else len(text)) + 1
        reason = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        raise ExpressionSyntaxError(
            f"'{text[:80]}' is not a JSONPath (RFC 9535): {reason}", column=column
        ) from None
    assert isinstance(path, jsonpath.JSONPath), "strict mode has no compound paths"
    query, single = _counted(path), path.singular_query()

    def lookup(data: Json) -> tuple[Json, bool]:
        token = _left.set([_NODES])
        try:
            values = [cast(Json, node.obj) for node in query.finditer(data)]  # parts of the data
        except (jsonpath.JSONPathError, RecursionError):
            raise LimitError("the data is nested too deeply for the path") from None
        finally:
            _left.reset(token)
        if not values:
            return None, False
        return (values[0] if single else values), True

    return lookup
