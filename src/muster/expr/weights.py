"""How much work a part of an expression is, known before it runs."""

from collections.abc import Iterator
from itertools import chain

from muster.expr.syntax import (
    Call,
    Chain,
    Compare,
    Each,
    Elvis,
    Index,
    ListOf,
    Logic,
    MapOf,
    Method,
    Node,
    Path,
    Syntax,
    Ternary,
    Unary,
)


def operations_in(node: Syntax) -> int:
    """The operators, calls and steps in it; names and literals cost nothing."""
    waiting: list[Node] = [node]
    total = 0
    while waiting:
        part = waiting.pop()
        total += _own(part)
        waiting.extend(_within(part))
    return total


def _own(node: Node) -> int:
    match node:
        case Chain(rest=rest):
            return len(rest)
        case Path(steps=steps):
            return len(steps)
        case Call() | Compare() | Elvis() | ListOf() | Logic() | MapOf() | Ternary() | Unary():
            return 1
        case _:
            return 0


def _within(node: Node) -> Iterator[Node]:
    match node:
        case Path(origin=origin, steps=steps):
            yield from (origin, *steps)
        case Chain(first=first, rest=rest):
            yield from (first, *(operand for _, _, operand in rest))
        case (
            Call(arguments=several)
            | Method(arguments=several)
            | ListOf(items=several)
            | Logic(operands=several)
        ):
            yield from several
        case MapOf(entries=entries):
            yield from chain.from_iterable(entries)
        case Compare(left=left, right=right):
            yield from (left, right)
        case Elvis(value=value, otherwise=otherwise):
            yield from (value, otherwise)
        case Ternary(condition=condition, when_true=when_true, when_false=when_false):
            yield from (condition, when_true, when_false)
        case Unary(operand=single) | Index(index=single) | Each(body=single):
            yield single
