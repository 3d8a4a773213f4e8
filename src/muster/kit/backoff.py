"""Trying again while something is away, less and less often."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0


def backoff(first: float, longest: float) -> Iterator[float]:
    """Seconds, doubling from `first` until they are `longest`, and so on for ever.

    >>> waits = backoff(0.5, 3)
    >>> [next(waits) for _ in range(5)]
    [0.5, 1.0, 2.0, 3, 3]
    """
    seconds = first
    while True:
        yield seconds
        seconds = min(seconds * 2, longest)


async def until_it_works(
    attempt: Callable[[], Awaitable[T]],
    trouble: type[Exception] | tuple[type[Exception], ...],
    tell: Callable[[Exception], None],
) -> T:
    """Try until it works; `tell` hears of every trouble in between. Other errors are raised."""
    pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
    while True:
        try:
            return await attempt()
        except trouble as error:
            tell(error)
            await asyncio.sleep(next(pauses))
