"""Something wrong with what an author wrote, said so that they can mend it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong, where it is, and where possible how to mend it.

    `code` is stable and in upper snake case (`UNKNOWN_NODE_TYPE`); `pointer` is a JSON pointer into the
    document as the author wrote it; `column` counts from 1 and is given for expressions and unreadable text.
    """

    code: str
    pointer: str
    message: str
    level: Level = Level.ERROR
    suggestion: str | None = None
    line: int | None = None
    column: int | None = None


class AuthorError(Exception):
    """The author of a definition, or of a request, can mend this: it is shown to them as it is."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(told(problems))
        self.problems = problems


def told(problems: Sequence[Problem]) -> str:
    """All of them in one sentence."""
    first, last = problems[:-1], problems[-1:]
    return "; ".join([*(each.message.rstrip(".") for each in first), *(each.message for each in last)])
