"""What an instance waits for that does nothing more: its tasks, told to its log when it gets SIGUSR1."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from typing import Any

ASK = signal.SIGUSR1


def tell_when_asked() -> None:
    signal.signal(ASK, lambda *_: _tell())


def _tell() -> None:
    for task in asyncio.all_tasks():
        sys.stderr.write(f"{task.get_name()}: {' > '.join(_places(task.get_coro()))}\n")
    sys.stderr.flush()


def _places(waiting: Any) -> Iterator[str]:
    """From the task's own function to what it waits for in the end."""
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "ag_frame", None)
        if frame is not None:
            yield f"{frame.f_code.co_qualname}:{frame.f_lineno}"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)
