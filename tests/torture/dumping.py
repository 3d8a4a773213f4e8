"""What an instance waits for that does nothing more: its tasks, told to its log when it gets SIGUSR1."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from typing import Any, TextIO

ASK = signal.SIGUSR1


def tell_when_asked() -> None:
    signal.signal(ASK, lambda *_: tell(sys.stderr))


def tell(whom: TextIO) -> None:
    """Every task of the loop that runs, with the chain of what it waits for."""
    for task in asyncio.all_tasks():
        whom.write(f"{task.get_name()}: {' > '.join(_places(task.get_coro()))}\n")
    whom.flush()


def _places(waiting: Any) -> Iterator[str]:
    """From the task's own function to what it waits for in the end."""
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "ag_frame", None)
        if frame is not None:
            yield f"{frame.f_code.co_qualname}:{frame.f_lineno}"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)
