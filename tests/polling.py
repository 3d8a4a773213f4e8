"""Waiting for what has to come: for as long as a slow machine takes, and no longer than it takes here."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

# Reached only where something is broken: nothing is shown by how long something takes.
PATIENCE = 120.0


def poll(ask: Callable[[], T], every: float = 0.05) -> T:
    """What is answered, once that is something: asked again and again, until patience has run out."""
    give_up = time.monotonic() + PATIENCE
    while not (answer := ask()):
        assert time.monotonic() < give_up, f"it did not come to pass: {answer}"
        time.sleep(every)
    return answer


async def until(ask: Callable[[], Awaitable[T]], every: float = 0.01) -> T:
    """The same for what is asked asynchronously."""
    give_up = time.monotonic() + PATIENCE
    while not (answer := await ask()):
        assert time.monotonic() < give_up, f"it did not come to pass: {answer}"
        await asyncio.sleep(every)
    return answer
