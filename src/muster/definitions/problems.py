"""Gathers what is wrong with a definition, so that its author hears of everything at once."""

from collections.abc import Collection, Iterable
from typing import Protocol

from muster.definitions.formats import Flaw
from muster.definitions.pointers import Path
from muster.definitions.schema import failures
from muster.kit.names import did_you_mean
from muster.model.json import Json, JsonObject
from muster.model.problems import Level, Problem

MOST = 1000
_MOST_COMPARED = 20_000


class Place(Protocol):
    """Says where in the author's document the value at a path of something was written.

    Answers the pointer, and what to put before the message where the pointer cannot reach the value itself.
    """

    def __call__(self, path: Path) -> tuple[str, str]: ...


class Problems:
    """Problems in the order in which they were found: each once, and no more than anyone would read.

    Errors and warnings are counted apart: however many warnings there are, an error is never lost to them.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], Problem] = {}
        self._left = {Level.ERROR: MOST, Level.WARNING: MOST}
        self._comparisons_left = _MOST_COMPARED

    def error(
        self,
        code: str,
        pointer: str,
        message: str,
        suggestion: str | None = None,
        column: int | None = None,
    ) -> None:
        self.add(Problem(code, pointer, message, Level.ERROR, suggestion, column=column))

    def warn(self, code: str, pointer: str, message: str) -> None:
        self.add(Problem(code, pointer, message, Level.WARNING))

    def add(self, problem: Problem) -> None:
        key = (problem.code, problem.pointer, problem.message)
        if key not in self._found and self._left[problem.level] > 0:
            self._left[problem.level] -= 1
            self._found[key] = problem

    def add_all(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.add(problem)

    def flaw(self, flaw: Flaw, place: Place, path: Path) -> None:
        pointer, before = place(path)
        self.error(flaw.code, pointer, before + flaw.message, flaw.suggestion, flaw.column)

    def hold(self, value: Json, schema: JsonObject, place: Place) -> bool:
        """Note all that `schema` has against `value`; whether there was nothing."""
        found = failures(schema, value)
        for path, flaw in found:
            self.flaw(flaw, place, path)
        return not found

    def suggest(self, word: str, known: Collection[str]) -> str | None:
        """What was probably meant; None once so much was compared that the author needs other help."""
        self._comparisons_left -= len(known)
        return did_you_mean(word, known) if self._comparisons_left > 0 else None

    @property
    def full(self) -> bool:
        """Whether there are so many errors that looking for more helps nobody."""
        return self._left[Level.ERROR] == 0

    @property
    def all(self) -> tuple[Problem, ...]:
        return tuple(self._found.values())

    @property
    def errors(self) -> int:
        """How many errors were noted so far."""
        return MOST - self._left[Level.ERROR]

    @property
    def any_error(self) -> bool:
        return self.errors > 0
