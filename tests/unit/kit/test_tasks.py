"""Ending tasks that do not hear at once."""

import asyncio

import pytest

from muster.kit import tasks
from muster.kit.tasks import ended


async def test_who_swallows_a_cancellation_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "TELL_AGAIN_SECONDS", 0.01)
    swallowed = 0

    async def deaf() -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed += 1
                if swallowed == 3:
                    raise

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    await ended(task)
    assert (task.cancelled(), swallowed) == (True, 3)


async def test_it_does_not_matter_how_they_end() -> None:
    async def fails() -> None:
        raise ValueError

    async def returns() -> None: ...

    async def waits() -> None:
        await asyncio.Event().wait()

    several = [asyncio.create_task(each()) for each in (fails, returns, waits)]
    await asyncio.sleep(0)
    await ended(*several)
    assert [task.done() for task in several] == [True] * 3


async def test_none_are_over_at_once() -> None:
    await ended()
