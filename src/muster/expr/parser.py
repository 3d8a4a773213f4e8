"""Tokens to syntax: a hand-written descent with Spring's precedence.

From loosest to tightest: ternary and Elvis (to the right), `or`, `and`, one comparison, sums, products, one
power, signs and `not`, then paths.
"""

from collections.abc import Mapping
from typing import TypeVar

from muster.expr import limits
from muster.expr.errors import ExpressionSyntaxError, LimitError
from muster.expr.signatures import Arity
from muster.expr.syntax import (
    Call,
    Chain,
    Compare,
    Current,
    Each,
    Elvis,
    Index,
    ListOf,
    Literal,
    Logic,
    MapOf,
    Method,
    Name,
    Node,
    Path,
    Property,
    Step,
    Syntax,
    Ternary,
    Unary,
    Variable,
)
from muster.expr.tokens import Kind, Token

_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _POWER = range(6)

# How tightly each operator binds, and what it is called. Words count in any case.
_OPERATORS = {
    "or": (_OR, "or"),
    "||": (_OR, "or"),
    "and": (_AND, "and"),
    "&&": (_AND, "and"),
    **{symbol: (_COMPARISON, symbol) for symbol in ("==", "!=", "<", "<=", ">", ">=", "between", "matches")},
    "eq": (_COMPARISON, "=="),
    "ne": (_COMPARISON, "!="),
    "lt": (_COMPARISON, "<"),
    "le": (_COMPARISON, "<="),
    "gt": (_COMPARISON, ">"),
    "ge": (_COMPARISON, ">="),
    "+": (_SUM, "+"),
    "-": (_SUM, "-"),
    "*": (_PRODUCT, "*"),
    "/": (_PRODUCT, "/"),
    "%": (_PRODUCT, "%"),
    "div": (_PRODUCT, "/"),
    "mod": (_PRODUCT, "%"),
    "^": (_POWER, "^"),
}
_ONCE = {_COMPARISON, _POWER}  # `1 < 2 < 3` has no meaning
_SIGNS = {"-": "-", "+": "+", "!": "not", "not": "not"}
_CONSTANTS = {"true": True, "false": False, "null": None}
_EACH = {"?[", "^[", "$[", "!["}

_Made = TypeVar("_Made", bound=Node)


class Parser:
    """Reads one expression. `functions` and `methods` say which names may be called, and with how much."""

    def __init__(
        self, tokens: list[Token], functions: Mapping[str, Arity], methods: Mapping[str, Arity]
    ) -> None:
        self._tokens = tokens
        self._at = 0
        self._functions = functions
        self._methods = methods
        self._depth = -1  # what is not nested has no depth
        self._made = 0

    def parse(self) -> Syntax:
        """The whole expression; anything left over is an error."""
        tree = self._expression()
        if self._token.kind is not Kind.END:
            raise self._unexpected()
        return tree

    # --- words ---------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._token
        if token.kind is not Kind.END:
            self._at += 1
        return token

    def _is(self, symbol: str) -> bool:
        return self._token.kind is Kind.SYMBOL and self._token.value == symbol

    def _accept(self, symbol: str) -> bool:
        if not self._is(symbol):
            return False
        self._at += 1
        return True

    def _expect(self, symbol: str) -> Token:
        if not self._is(symbol):
            raise self._unexpected(f"`{symbol}` was expected")
        return self._take()

    def _word(self) -> str:
        """The symbol or name that stands here, in small letters; nothing for anything else."""
        token = self._token
        return token.value.lower() if token.kind is Kind.SYMBOL or token.kind is Kind.NAME else ""

    def _unexpected(self, wanted: str = "the expression should end here") -> ExpressionSyntaxError:
        token = self._token
        column = token.start + 1
        if token.kind is Kind.END:
            return ExpressionSyntaxError("the expression ends too early", column)
        if token.kind is Kind.NAME and token.value.lower() == "instanceof":
            return _forbidden("`instanceof` is not available in expressions", column)
        shown = f"the text '{token.value}'" if token.kind is Kind.TEXT else f"`{token.value}`"
        return ExpressionSyntaxError(f"{shown} is unexpected: {wanted}", column)

    def _count(self, node: _Made) -> _Made:
        self._made += 1
        if self._made > limits.OPERATIONS:
            raise LimitError(f"the expression has more than {limits.OPERATIONS:,} operations", node.start + 1)
        return node

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > limits.DEPTH:
            raise LimitError(f"the expression is nested deeper than {limits.DEPTH}", self._token.start + 1)

    # --- from the loosest rank to the tightest ---------------------------------------------------

    def _expression(self) -> Syntax:
        self._descend()
        value = self._operation(_OR)
        result: Syntax = value
        if self._accept("?:"):
            otherwise = self._expression()
            result = self._count(Elvis(value.start, otherwise.end, value, otherwise))
        elif self._accept("?"):
            when_true = self._expression()
            self._expect(":")
            when_false = self._expression()
            result = self._count(Ternary(value.start, when_false.end, value, when_true, when_false))
        self._depth -= 1
        return result

    def _operation(self, loosest: int) -> Syntax:
        """Operators that bind at least as tightly as `loosest`, each rank as one flat node."""
        left = self._unary()
        below = _POWER + 1
        while (found := _OPERATORS.get(self._word())) and loosest <= found[0] < below:
            below = found[0]
            left = self._rank(left, below)
        return left

    def _rank(self, first: Syntax, rank: int) -> Syntax:
        """All the operators of one rank that follow, from left to right."""
        rest: list[tuple[str, int, Syntax]] = []
        while (found := _OPERATORS.get(self._word())) and found[0] == rank:
            column = self._take().start + 1
            operand = self._operation(rank + 1)
            rest.append((found[1], column, operand))
            self._count(operand)
            if rank in _ONCE:
                break
        end = rest[-1][2].end
        if rank == _COMPARISON:
            return Compare(first.start, end, rest[0][0], first, rest[0][2])
        if rank <= _AND:
            return Logic(first.start, end, rest[0][0], (first, *(operand for _, _, operand in rest)))
        return Chain(first.start, end, first, tuple(rest))

    def _unary(self) -> Syntax:
        sign = _SIGNS.get(self._word())
        if sign is None:
            return self._path()
        start = self._take().start
        self._descend()
        operand = self._unary()
        self._depth -= 1
        return self._count(Unary(start, operand.end, sign, operand))

    # --- paths ---------------------------------------------------------------------------------

    def _path(self) -> Syntax:
        origin = self._origin()
        steps: list[Step] = []
        if isinstance(origin, Method | Index | Each):
            steps.append(origin)
            origin = Current(origin.start, origin.start)
        while step := self._step():
            steps.append(self._count(step))
        return Path(origin.start, steps[-1].end, origin, tuple(steps)) if steps else origin

    def _step(self) -> Step | None:
        if self._is("["):
            return self._index(safe=False)
        safe = self._is("?.")
        if not safe and not self._is("."):
            return None
        self._take()
        token = self._token
        if token.kind is Kind.NAME:
            self._take()
            if self._is("("):
                return self._method(token, safe)
            return Property(token.start, token.end, token.value, safe)
        if self._is("["):
            return self._index(safe)
        if token.kind is Kind.SYMBOL and token.value in _EACH:
            return self._each(safe)
        raise self._unexpected("a property, a method or a selection was expected after the dot")

    def _index(self, safe: bool) -> Index:
        start = self._take().start
        index = self._expression()
        return Index(start, self._expect("]").end, index, safe)

    def _each(self, safe: bool) -> Each:
        token = self._take()
        body = self._expression()
        return Each(token.start, self._expect("]").end, token.value, body, safe)

    def _method(self, name: Token, safe: bool) -> Method:
        arity = self._methods.get(name.value)
        if arity is None:
            raise _forbidden(f"there is no method `{name.value}()` in expressions", name.start + 1)
        arguments, end = self._arguments()
        arity.check(f"{name.value}()", len(arguments), name.start + 1)
        return Method(name.start, end, name.value, arguments, safe)

    def _arguments(self) -> tuple[tuple[Syntax, ...], int]:
        self._expect("(")
        arguments: list[Syntax] = []
        if not self._is(")"):
            arguments.append(self._expression())
            while self._accept(","):
                arguments.append(self._expression())
        return tuple(arguments), self._expect(")").end

    # --- what a path begins with -------------------------------------------------------------------

    def _origin(self) -> Syntax | Method | Index | Each:
        token = self._token
        match token.kind:
            case Kind.NAME:
                return self._named(self._take())
            case Kind.TEXT:
                return self._literal(token.value)
            case Kind.WHOLE:
                return self._literal(int(token.value, 16 if token.value.startswith("0x") else 10))
            case Kind.FRACTION:
                return self._literal(_fraction(token))
            case Kind.SYMBOL:
                return self._symbol(token)
            case Kind.END:
                raise self._unexpected()

    def _literal(self, value: str | int | float) -> Literal:
        token = self._take()
        return self._count(Literal(token.start, token.end, value))

    def _symbol(self, token: Token) -> Syntax | Index | Each:
        if token.value == "(":
            return self._parenthesised()
        if token.value == "#":
            return self._variable()
        if token.value == "{":
            return self._braces()
        if token.value == "[":
            return self._index(safe=False)
        if token.value in _EACH:
            return self._each(safe=False)
        raise self._unexpected("a value was expected")

    def _parenthesised(self) -> Syntax:
        self._take()
        inner = self._expression()
        self._expect(")")
        return inner

    def _named(self, token: Token) -> Syntax | Method:
        word = token.value.lower()
        if word in _CONSTANTS:
            return self._count(Literal(token.start, token.end, _CONSTANTS[word]))
        if word == "new" and not self._is("]"):
            raise _forbidden("`new` is not available in expressions", token.start + 1)
        if not self._is("("):
            return self._count(Name(token.start, token.end, token.value))
        if token.value == "T":
            raise _forbidden("`T(…)` is not available in expressions", token.start + 1)
        if token.value not in self._functions and token.value in self._methods:
            return self._count(self._method(token, safe=False))
        return self._call(token)

    def _call(self, name: Token) -> Call:
        arity = self._functions.get(name.value)
        if arity is None:
            raise _forbidden(f"there is no function `{name.value}()` in expressions", name.start + 1)
        arguments, end = self._arguments()
        arity.check(f"{name.value}()", len(arguments), name.start + 1)
        return self._count(Call(name.start, end, name.value, arguments))

    def _variable(self) -> Syntax:
        start = self._take().start
        name = self._token
        if name.kind is not Kind.NAME:
            raise self._unexpected("a name was expected after `#`")
        self._take()
        if self._is("("):
            return self._call(name)
        return self._count(Variable(start, name.end, name.value))

    def _braces(self) -> Syntax:
        start = self._take().start
        if self._is("}"):
            return self._count(ListOf(start, self._take().end, ()))
        if self._accept(":"):
            return self._count(MapOf(start, self._expect("}").end, ()))
        first = self._expression()
        if self._accept(":"):
            return self._map(start, first)
        items = [first]
        while self._accept(","):
            items.append(self._expression())
        return self._count(ListOf(start, self._expect("}").end, tuple(items)))

    def _map(self, start: int, key: Syntax) -> MapOf:
        entries = [(key, self._expression())]
        while self._accept(","):
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
        return self._count(MapOf(start, self._expect("}").end, tuple(entries)))


def _forbidden(message: str, column: int) -> ExpressionSyntaxError:
    return ExpressionSyntaxError(message, column, "EXPRESSION_FORBIDDEN")


def _fraction(token: Token) -> float:
    value = float(token.value)
    if value in (float("inf"), float("-inf")):
        raise ExpressionSyntaxError(f"`{token.value}` is too large for a number", token.start + 1)
    return value
