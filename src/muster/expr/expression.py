"""Compiled expressions, kept by their text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from muster.expr import limits
from muster.expr.compiler import Compiler
from muster.expr.errors import ExpressionSyntaxError, LimitError
from muster.expr.functions import CONTEXTUAL, PLAIN
from muster.expr.limits import Frame, Scope
from muster.expr.methods import METHODS
from muster.expr.parser import Parser
from muster.expr.signatures import arities
from muster.expr.tokens import tokenise
from muster.model.json import Json

DELIMITERS = ("#{", "@{", "${")

# Longer texts are compiled each time they are asked for: whoever uses one often keeps what was compiled.
_KEPT_LENGTH = 8 * 1024
_KEPT = 2048

_METHOD_ARITIES = arities(METHODS, given=1)
_FUNCTION_ARITIES = arities(PLAIN) | arities(CONTEXTUAL, given=2)


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. Two of the same text are equal.

    `names` are the context's variables it reads, as far as that shows in its text.
    """

    text: str
    names: frozenset[str] = field(compare=False)
    identifies: bool = field(compare=False, repr=False)
    _builds: bool = field(compare=False, repr=False)
    _run: Callable[[Frame], Json] = field(compare=False, repr=False)

    def evaluate(self, scope: Scope) -> Json:
        """Its value. Raises `ExpressionError` and nothing else."""
        try:
            value = self._run(Frame(scope))
        except RecursionError:
            raise LimitError("the expression or its data is nested too deeply") from None
        return limits.allow_output(value) if self._builds else value


def compile_expression(text: str) -> Expression:
    """Compile the text of one expression, without delimiters. Raises `ExpressionSyntaxError`."""
    return _kept_expression(text) if len(text) <= _KEPT_LENGTH else _compile_whole(text)


def _compile_whole(text: str) -> Expression:
    return compile_part(text, 0, delimited=False)[0]


_kept_expression = lru_cache(maxsize=_KEPT)(_compile_whole)


def compile_part(text: str, start: int, delimited: bool) -> tuple[Expression, int]:
    """The expression that begins at `start`, and where it ends: before its closing brace if `delimited`.

    Columns, here and when it is evaluated, are those of the whole `text`.
    """
    try:
        tokens = tokenise(text, start, delimited)
        end = tokens[-1].start
        if delimited and end == len(text):
            opening = text[start - 2 : start]
            raise ExpressionSyntaxError(f"`{opening}` is never closed: a `}}` is missing", start - 1)
        tree = Parser(tokens, _FUNCTION_ARITIES, _METHOD_ARITIES).parse()
        compiler = Compiler(text)
        run = compiler.compile(tree)
    except RecursionError:
        raise LimitError("the expression is nested too deeply", start + 1) from None
    except LimitError as error:
        raise ExpressionSyntaxError(error.message, error.column, error.code) from None
    source = text[start:end]
    names = frozenset(compiler.names)
    return Expression(source, names, compiler.identifies, compiler.builds, run), end


def compile_condition(text: str) -> Expression:
    """Compile a routing condition: one delimited expression, or the expression alone."""
    return _kept_condition(text) if len(text) <= _KEPT_LENGTH else _compile_condition(text)


def _compile_condition(text: str) -> Expression:
    trimmed = text.strip()
    if not trimmed.startswith(DELIMITERS):
        return compile_expression(text)
    start = text.index(trimmed[:2]) + 2
    expression, end = compile_part(text, start, delimited=True)
    if text[end + 1 :].strip():
        raise ExpressionSyntaxError("one expression was expected, and more follows it", end + 2)
    return expression


_kept_condition = lru_cache(maxsize=_KEPT)(_compile_condition)
