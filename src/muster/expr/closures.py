"""The closures that compiled expressions are made of, where they need nothing but their parts."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from muster.expr import operators, patterns
from muster.expr.convert import kind_of, spring_text
from muster.expr.errors import ExpressionError
from muster.expr.limits import CHARACTERS_PER_OPERATION, Frame
from muster.expr.steps import Apply, Run
from muster.kit.names import did_you_mean
from muster.model.json import Json

NUMBERS = frozenset({int, float})

Order: TypeAlias = Callable[[Any, Any], bool]  # as the operators themselves are typed


def unknown_name(name: str, frame: Frame, in_loop: bool, column: int) -> ExpressionError:
    """Says what the name is missing from, and which one may have been meant."""
    if in_loop and name in frame.root:
        hint = f" (write `#{name}` for the context's variable)"
    else:
        near = did_you_mean(name, frame.this) if isinstance(frame.this, Mapping) else None
        hint = f" ({near})" if near else ""
    what = f"the element has no `{name}`" if in_loop else f"there is no variable `{name}`"
    return ExpressionError(what + hint, "EXPRESSION_UNKNOWN_NAME", column)


def current(frame: Frame) -> Json:
    this = frame.this
    return dict(this) if isinstance(this, Mapping) and type(this) is not dict else this


def root(frame: Frame) -> Json:
    return frame.root if type(frame.root) is dict else dict(frame.root)


def walk_steps(origin: Run, steps: list[Apply]) -> Run:
    if len(steps) == 1:
        only = steps[0]
        return lambda frame: only(frame, origin(frame))

    def walk(frame: Frame) -> Json:
        value = origin(frame)
        for step in steps:
            value = step(frame, value)
        return value

    return walk


def at_root(run: Run) -> Run:
    def rooted(frame: Frame) -> Json:
        around, frame.this = frame.this, frame.root
        value = run(frame)
        frame.this = around
        return value

    return rooted


def at_element(run: Run) -> Run:
    def scoped(frame: Frame) -> Json:
        around, frame.this = frame.this, frame.element
        value = run(frame)
        frame.this = around
        return value

    return scoped


def list_of(items: list[Run]) -> Run:
    return lambda frame: [item(frame) for item in items]


def elvis(value: Run, otherwise: Run) -> Run:
    def run(frame: Frame) -> Json:
        first = value(frame)
        return otherwise(frame) if operators.is_blank_for_elvis(first) else first

    return run


def charge_operands(frame: Frame, left: Json, right: Json) -> None:
    """Joining and comparing look through whatever they are given."""
    for value in (left, right):
        kind = type(value)
        if kind in NUMBERS or (kind is str and len(value) <= CHARACTERS_PER_OPERATION):  # type: ignore[arg-type]  # str
            continue
        frame.spend_on(value)


def compare_with(decide: Order, left: Run, limit: Json, column: int) -> Run:
    """Comparison with a number that is written down."""

    def run(frame: Frame) -> Json:
        value = left(frame)
        kind = type(value)
        if kind is int or kind is float:
            return decide(value, limit)
        try:
            return decide(operators.compare(value, limit), 0)
        except ExpressionError as error:
            raise error.placed(column) from None

    return run


def _equals(left: Json, right: Json, frame: Frame) -> Json:
    return operators.equal(left, right)


def _differs(left: Json, right: Json, frame: Frame) -> Json:
    return not operators.equal(left, right)


def _between(left: Json, right: Json, frame: Frame) -> Json:
    return operators.between(left, right)


def _matches(left: Json, right: Json, frame: Frame) -> Json:
    if left is None or isinstance(left, Mapping):
        raise ExpressionError(
            f"`matches` needs a text on its left, and this is {kind_of(left)}", "EXPRESSION_TYPE"
        )
    if type(right) is not str:
        raise ExpressionError(
            f"`matches` needs a pattern on its right, and this is {kind_of(right)}", "EXPRESSION_TYPE"
        )
    text = spring_text(left)
    frame.spend(patterns.cost(text, right, with_groups=False))
    return patterns.matches(text, right)


_RELATIONS: Mapping[str, Callable[[Json, Json, Frame], Json]] = {
    "==": _equals,
    "!=": _differs,
    "between": _between,
    "matches": _matches,
}


def relation(symbol: str, left: Run, right: Run, column: int) -> Run:
    decide = _RELATIONS[symbol]

    def run(frame: Frame) -> Json:
        first, second = left(frame), right(frame)
        try:
            if type(first) not in NUMBERS or type(second) not in NUMBERS:
                charge_operands(frame, first, second)
            return decide(first, second, frame)
        except ExpressionError as error:
            raise error.placed(column) from None

    return run
