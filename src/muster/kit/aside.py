"""Work that would keep the event loop waiting, done beside it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

LARGE = 64 * 1024
# Few: they share the interpreter with the event loop, which each of them slows down.
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="aside")


async def aside(size: int, work: Callable[[], T]) -> T:
    """What `work` comes to; if its `size` is above `LARGE`, found on a thread, and only a few at a time.

    `work` must be pure: when its caller is cancelled, nobody waits for it, but it runs to its end.
    """
    if size <= LARGE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
