"""The steps of a path, as closures: each takes the state and the value so far, and gives the next value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from muster.expr.charges import charge_call, charge_result
from muster.expr.convert import java_text, kind_of, whole
from muster.expr.errors import ExpressionError
from muster.expr.limits import Frame
from muster.expr.methods import METHODS
from muster.model.json import Json

Run: TypeAlias = Callable[[Frame], Json]
Apply: TypeAlias = Callable[[Frame, Json], Json]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where in the text a step stands: its path begins at `start`, the step itself at `at`, and what it is
    taken from ends at `before`. What is said when it fails is only put together then."""

    text: str
    start: int
    before: int
    at: int
    end: int

    @property
    def column(self) -> int:
        return self.at + 1

    @property
    def of(self) -> str:
        return self.text[self.start : self.before].strip() or "#this"

    def on_null(self) -> ExpressionError:
        path = self.text[self.start : self.end].strip()
        return ExpressionError(
            f"`{self.of}` is null, so `{path}` has no value (use `?.` to pass over null)",
            "EXPRESSION_NULL",
            self.column,
        )

    def on_kind(self, value: Json, what: str) -> ExpressionError:
        return ExpressionError(
            f"`{self.of}` is {kind_of(value)}, which has no {what}", "EXPRESSION_TYPE", self.column
        )


def property_step(name: str, safe: bool, spot: Spot) -> Apply:
    """`.name`: an object's value, null if it has none."""

    def apply(frame: Frame, value: Json) -> Json:
        if type(value) is dict:
            return value.get(name)
        if value is None and safe:
            return None
        return other_property(value, name, spot)

    return apply


def other_property(value: Json, name: str, spot: Spot) -> Json:
    if value is None:
        raise spot.on_null()
    if isinstance(value, Mapping):
        return value.get(name)
    raise spot.on_kind(value, f"property `{name}`")


def index_step(index: Run, bare_name: str | None, safe: bool, spot: Spot) -> Apply:
    """`[index]`. On an object a bare name is the key itself; elsewhere it is looked up like any other."""

    def apply(frame: Frame, value: Json) -> Json:
        if value is None:
            if safe:
                return None
            raise spot.on_null()
        if isinstance(value, Mapping):
            return value.get(bare_name if bare_name is not None else _key(index(frame), spot))
        if isinstance(value, list | str):
            return _at(value, index(frame), spot)
        raise spot.on_kind(value, "elements")

    return apply


def _key(value: Json, spot: Spot) -> str:
    if value is None:
        raise ExpressionError("null is not a key", "EXPRESSION_INDEX", spot.column)
    return value if type(value) is str else java_text(value)


def _at(value: list[Json] | str, index: Json, spot: Spot) -> Json:
    try:
        place = whole(index)
    except ExpressionError as error:
        raise error.placed(spot.column) from None
    if 0 <= place < len(value):
        return value[place]
    many = f"{len(value)} {'elements' if isinstance(value, list) else 'characters'}"
    raise ExpressionError(f"`{spot.of}` has {many}, and none at that place", "EXPRESSION_INDEX", spot.column)


def method_step(name: str, arguments: tuple[Run, ...], safe: bool, spot: Spot) -> Apply:
    """`.name(…)`, from the fixed list."""
    call = METHODS[name]

    def apply(frame: Frame, value: Json) -> Json:
        operands = [value, *(argument(frame) for argument in arguments)]
        if value is None:
            if safe:
                return None
            raise spot.on_null()
        try:
            charge_call(frame, name, operands)
            return charge_result(frame, call(*operands))
        except ExpressionError as error:
            raise error.placed(spot.column) from None

    return apply


def each_step(operator: str, body: Run, cost: int, safe: bool, spot: Spot) -> Apply:
    """Selection or projection. The body sees each element in turn; an object's are its entries."""
    collect = {"![": _project, "?[": _select, "^[": _select_first, "$[": _select_last}[operator]

    def apply(frame: Frame, value: Json) -> Json:
        if value is None and safe:
            return None
        if value is None:
            raise spot.on_null()
        if not isinstance(value, list | Mapping):
            raise spot.on_kind(value, "elements to go through")
        outer = frame.this, frame.element

        def visit(element: Json) -> Json:
            frame.left -= cost
            if frame.left < 0:
                frame.spend(0)  # says what was passed
            frame.this = frame.element = element
            return body(frame)

        try:
            return collect(value, visit)
        except ExpressionError as error:
            raise error.placed(spot.column) from None
        finally:
            frame.this, frame.element = outer

    return apply


_Visit: TypeAlias = Callable[[Json], Json]
_Many: TypeAlias = "list[Json] | Mapping[str, Json]"


def _entries(value: Mapping[str, Json]) -> list[dict[str, Json]]:
    return [{"key": key, "value": item} for key, item in value.items()]


def _project(value: _Many, visit: _Visit) -> Json:
    return [visit(item) for item in (value if isinstance(value, list) else _entries(value))]


def _chosen(visit: _Visit, element: Json) -> bool:
    answer = visit(element)
    if answer is True or answer is False:
        return answer
    raise ExpressionError(
        f"a selection needs true or false, and this is {kind_of(answer)}", "EXPRESSION_TYPE"
    )


def _select(value: _Many, visit: _Visit) -> Json:
    if isinstance(value, list):
        return [item for item in value if _chosen(visit, item)]
    return {key: item for key, item in value.items() if _chosen(visit, {"key": key, "value": item})}


def _select_first(value: _Many, visit: _Visit) -> Json:
    if isinstance(value, list):
        return next((item for item in value if _chosen(visit, item)), None)
    for key, item in value.items():
        if _chosen(visit, {"key": key, "value": item}):
            return {key: item}
    return None


def _select_last(value: _Many, visit: _Visit) -> Json:
    chosen = _select(value, visit)
    if isinstance(chosen, list):
        return chosen[-1] if chosen else None
    assert isinstance(chosen, dict)
    return dict([chosen.popitem()]) if chosen else None
