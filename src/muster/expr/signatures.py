"""How many arguments a function or method takes, read from its own definition."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from muster.expr.errors import ExpressionSyntaxError
from muster.model.json import Json


@dataclass(frozen=True, slots=True)
class Arity:
    """`most` is None when any number may follow."""

    least: int
    most: int | None

    def check(self, name: str, given: int, column: int) -> None:
        """Refuse a call that could never work, before anything runs."""
        if given < self.least or (self.most is not None and given > self.most):
            raise ExpressionSyntaxError(f"`{name}` takes {self._words()}, and {given} are given", column)

    def _words(self) -> str:
        if self.most is None:
            return f"{self.least} arguments or more"
        if self.least == self.most:
            return "no arguments" if self.most == 0 else f"{self.most} argument{'s' * (self.most > 1)}"
        return f"{self.least} to {self.most} arguments"


def arities(table: Mapping[str, Callable[..., Json]], given: int = 0) -> dict[str, Arity]:
    """The arity of each, not counting the first `given` parameters: a method's target, a function's frame."""
    return {name: _arity(call, given) for name, call in table.items()}


def _arity(call: Callable[..., Json], given: int) -> Arity:
    parameters = list(inspect.signature(call).parameters.values())[given:]
    least = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
    return Arity(least, None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters))
