"""Templates: JSON values with expressions in their texts."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from muster.expr import limits
from muster.expr.convert import template_text
from muster.expr.errors import ExpressionError, ExpressionSyntaxError
from muster.expr.expression import DELIMITERS, Expression, compile_expression, compile_part
from muster.expr.limits import Scope
from muster.model.json import Json

_Resolve: TypeAlias = Callable[[Scope], Json]
_KEPT_LENGTH = 8 * 1024
_KEPT = 2048
_DELIMITER = re.compile(r"(\\?)([#@$]\{)")


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template.

    `names` are the context's variables it reads; `is_constant` says that it holds no expression at all.
    """

    names: frozenset[str]
    is_constant: bool
    _identifies: bool
    _resolve: _Resolve

    def resolve(self, scope: Scope) -> Json:
        """Its value: new lists and objects each time, so that a caller may change what it gets."""
        return self._resolve(scope)


def compile_template(value: Json) -> Template:
    """Compile the texts at every depth of a value, keys excepted. Raises `ExpressionSyntaxError`."""
    return _compile(value, 0)


def _compile(value: Json, depth: int) -> Template:
    if depth > limits.VALUE_DEPTH:
        raise ExpressionSyntaxError(f"a template may be nested {limits.VALUE_DEPTH} deep at most")
    if isinstance(value, str):
        return _kept_text(value) if len(value) <= _KEPT_LENGTH else _compile_text(value)
    if isinstance(value, list):
        return _list([_compile(item, depth + 1) for item in value])
    if isinstance(value, Mapping):
        return _object({key: _compile(item, depth + 1) for key, item in value.items()})
    return _constant(value)


def _constant(value: Json) -> Template:
    return Template(frozenset(), True, False, lambda scope: value)


def _list(items: list[Template]) -> Template:
    places = [_placed(item, str(index)) for index, item in enumerate(items)]
    return _made_of(items, lambda scope: [resolve(scope) for resolve in places])


def _object(entries: dict[str, Template]) -> Template:
    places = {key: _placed(entry, key) for key, entry in entries.items()}
    resolve: _Resolve = lambda scope: {key: place(scope) for key, place in places.items()}  # noqa: E731  # names its type
    return _made_of(list(entries.values()), resolve)


def _made_of(parts: list[Template], resolve: _Resolve) -> Template:
    return Template(
        frozenset().union(*(part.names for part in parts)),
        all(part.is_constant for part in parts),
        any(part._identifies for part in parts),
        resolve,
    )


def _placed(part: Template, place: str) -> _Resolve:
    """Ids differ from place to place: what makes any is told where in the template it stands."""
    if not part._identifies:
        return part._resolve
    return lambda scope: part._resolve(replace(scope, identity=f"{scope.identity}/{place}"))


def _compile_text(text: str) -> Template:
    parts = list(_parts(text))
    expressions = [part for part in parts if isinstance(part, Expression)]
    if not expressions:
        return _constant("".join(part for part in parts if isinstance(part, str)))
    return Template(
        frozenset().union(*(expression.names for expression in expressions)),
        False,
        any(expression.identifies for expression in expressions),
        expressions[0].evaluate if len(parts) == 1 else _text(parts),
    )


_kept_text = lru_cache(maxsize=_KEPT)(_compile_text)


def _text(parts: list[str | Expression]) -> _Resolve:
    def resolve(scope: Scope) -> Json:
        length, made = 0, []
        for part in parts:
            made.append(part if isinstance(part, str) else template_text(part.evaluate(scope)))
            length += len(made[-1])
            limits.allow_text(length)
        return "".join(made)

    return resolve


def _parts(text: str) -> Iterator[str | Expression]:
    """Plain text and expressions. A backslash before a delimiter makes it plain."""
    at = 0
    while found := _DELIMITER.search(text, at):
        start = found.start()
        if start > at:
            yield text[at:start]
        if found[1]:
            yield found[2]
            at = found.end()
        else:
            expression, end = compile_part(text, found.end(), delimited=True)
            yield expression
            at = end + 1
    if at < len(text):
        yield text[at:]


def compile_either(text: str) -> Template | Expression:
    """A template, if the text holds a delimiter; else one expression. Raises `ExpressionSyntaxError`."""
    has_delimiter = any(delimiter in text for delimiter in DELIMITERS)
    return compile_template(text) if has_delimiter else compile_expression(text)


def evaluate(text: str, scope: Scope) -> Json:
    """The value of an expression; of a template, if the text holds a delimiter and is no expression itself.

    Raises `ExpressionError`.
    """
    try:
        expression = compile_expression(text)
    except ExpressionError:
        if not any(delimiter in text for delimiter in DELIMITERS):
            raise
        return compile_template(text).resolve(scope)
    return expression.evaluate(scope)
