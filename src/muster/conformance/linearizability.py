"""Whether a concurrent history could have happened one operation at a time.

Each operation took effect at some moment between its call and its return. The search is that of Wing and
Gong: take any operation that began before every other one returned, ask the model whether its answer fits, go
on, and go back where it does not fit. What was tried before, the same operations in the same state, is not
tried again (Lowe). Keys that have nothing to do with one another are looked at by themselves, so a history is
as hard as its busiest key.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State", bound=Hashable)
Question = TypeVar("Question")
# The model: the state after a question, if this answer fits; nothing, if it does not.
Model = Callable[[State, Question, object], "tuple[State, ...]"]


@dataclass(frozen=True, slots=True)
class Operation(Generic[Question]):
    """Called and returned at these moments, by one clock that all share."""

    key: str
    asked: Question
    answered: object
    called: int
    returned: int


def unexplained(
    history: Iterable[Operation[Question]], model: Model[State, Question], beginning: State
) -> list[str]:
    """The keys whose operations have no order that explains their answers."""
    by_key: dict[str, list[Operation[Question]]] = defaultdict(list)
    for operation in history:
        by_key[operation.key].append(operation)
    return [key for key, operations in by_key.items() if not is_explained(operations, model, beginning)]


def is_explained(
    operations: Iterable[Operation[Question]], model: Model[State, Question], beginning: State
) -> bool:
    """Of one key. `done` has all before `first` done, and of those after it the ones in the set."""
    ordered = sorted(operations, key=lambda operation: operation.called)
    tried: set[tuple[int, frozenset[int], State]] = set()
    waiting: list[tuple[int, frozenset[int], State]] = [(0, frozenset(), beginning)]
    while waiting:
        place = waiting.pop()
        first, done, state = place
        if first == len(ordered):
            return True
        if place in tried:
            continue
        tried.add(place)
        for number in _candidates(ordered, first, done):
            asked, answered = ordered[number].asked, ordered[number].answered
            waiting += (_with(number, first, done, after) for after in model(state, asked, answered))
    return False


def _candidates(ordered: list[Operation[Question]], first: int, done: frozenset[int]) -> list[int]:
    """Those that began before any that is left has returned."""
    found: list[tuple[int, int]] = []
    earliest = ordered[first].returned
    for number in range(first, len(ordered)):
        operation = ordered[number]
        if operation.called > earliest:
            break  # they are in the order of their calls
        if number not in done:
            found.append((operation.returned, number))
            earliest = min(earliest, operation.returned)
    # The first to return is tried first: it is the last of a stack.
    found.sort(reverse=True)
    return [number for _, number in found]


def _with(number: int, first: int, done: frozenset[int], state: State) -> tuple[int, frozenset[int], State]:
    left = done | {number}
    while first in left:
        left -= {first}
        first += 1
    return first, left, state
