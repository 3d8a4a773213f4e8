"""Every point of a run at which something else could have happened, and all ways through.

A choice is among names. They say what comes, not how often anything was chosen before, so a run that crashes
and does something again can be led the same way by the same names.
"""

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class Choice:
    """What could have come, and what came. `commits`: so many had happened before."""

    options: tuple[str, ...]
    chosen: str
    commits: int = 0


class Choices:
    """Chooses as the script says: whatever it names first. Where it names nothing, the first option."""

    def __init__(self, script: Sequence[str], commits: Callable[[], int] = lambda: 0) -> None:
        self._ranks = {name: rank for rank, name in reversed(list(enumerate(script)))}
        self._commits = commits
        self.made: list[Choice] = []

    def among(self, options: Sequence[str]) -> str:
        if len(options) == 1:
            return options[0]
        named = [option for option in options if option in self._ranks]
        chosen = min(named, key=self._ranks.__getitem__) if named else options[0]
        self.made.append(Choice(tuple(options), chosen, self._commits()))
        return chosen


OVER, UNANSWERED = "its time is over", "no answer in time"
_COUNTED = re.compile(r" \((?:visit|attempt) [0-9]+\)")


def is_late(name: str) -> bool:
    """Whether this is something that did not come in time."""
    return name.endswith((OVER, UNANSWERED))


def is_of_one(names: Sequence[str]) -> bool:
    """Whether at most one thing is late, however often."""
    return len({_COUNTED.sub("", name) for name in names if is_late(name)}) <= 1


class Chosen(Protocol):
    @property
    def choices(self) -> tuple[Choice, ...]: ...


R = TypeVar("R", bound=Chosen)


@dataclass(frozen=True, slots=True)
class Way:
    """A script, and after how many commits it leaves the way that it was found on."""

    script: tuple[str, ...] = ()
    parts_after: int = 0


def explore(run: Callable[[Way], R], most: int) -> tuple[list[tuple[Way, R]], int]:
    """Every way through, those that differ least from the first one first, at most so many; and how many
    are known of and were left out."""
    waiting, found = deque([Way()]), list[tuple[Way, R]]()
    while waiting and len(found) < most:
        way = waiting.popleft()
        ran = run(way)
        found.append((way, ran))
        waiting.extend(_others(way, ran.choices))
    return found, len(waiting)


def _others(way: Way, choices: Sequence[Choice]) -> list[Way]:
    """The ways that part from this one after its script has ended: earlier ones are known already. Each thing
    is late alone: several at once would be more ways than anybody waits for."""
    names = tuple(choice.chosen for choice in choices)
    return [
        Way((*names[:place], option), choice.commits)
        for place, choice in enumerate(choices)
        if place >= len(way.script)
        for option in choice.options
        if option != choice.chosen and is_of_one((*names[:place], option))
    ]
