"""Ending what runs beside us."""

import asyncio
from typing import Any

# Whoever is told to end may have something to put in order first, but not for longer.
TELL_AGAIN_SECONDS = 5.0


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and return when all are over, in whichever way.

    They are told again until they are. Once is not enough: what a task waits for may swallow it where its
    answer comes at the same moment. `asyncio.wait_for` of Python 3.11 does, and MariaDB's client uses it;
    and a loop that has not heard goes on for ever.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=TELL_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)
