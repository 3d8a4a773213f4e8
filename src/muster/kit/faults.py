"""What may be told of an exception where payloads may not: its kind and where it was, but not its words."""

import os
from traceback import format_tb

MOST_GROUPED = 5


def without_words(error: BaseException) -> str:
    """The exception as Python shows it, what it came of before it, but for the words: those of a handler, a
    driver or a parser quote what they could not deal with. What the system says of an error is its own."""
    shown, seen = [], set[int]()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        shown.append(_one(each))
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return "\n\n".join(reversed(shown))


def _one(error: BaseException) -> str:
    frames = "".join(format_tb(error.__traceback__))
    head = f"Traceback (most recent call last):\n{frames}" if frames else ""
    return "\n".join([f"{head}{_kind(error)}", *_grouped(error)])


def _kind(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    said = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else None
    return f"{name}: {said}" if said else name


def _grouped(error: BaseException) -> list[str]:
    if not isinstance(error, BaseExceptionGroup):
        return []
    return [without_words(each) for each in error.exceptions[:MOST_GROUPED]]
