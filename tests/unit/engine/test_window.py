"""What waits to be written: gathered while the last batch is written, and never more than the window."""

import asyncio

import pytest

from muster.engine.window import Window


class Disk:
    """Keeps what it is given once it is let."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may = asyncio.Event()

    async def write(self, batch: list[int]) -> None:
        await self.may.wait()
        self.batches.append(batch)


async def test_what_comes_while_a_batch_is_written_goes_with_the_next() -> None:
    disk = Disk()
    window = Window(disk.write, 100)
    writing = asyncio.create_task(window.run())
    await window.put(1)
    await asyncio.sleep(0)
    await window.put(2)
    await window.put(3)
    window.close()
    disk.may.set()
    await writing
    assert disk.batches == [[1], [2, 3]]


async def test_who_comes_when_it_is_full_waits_for_room() -> None:
    disk = Disk()
    window = Window(disk.write, 3)
    writing = asyncio.create_task(window.run())
    arrived: list[int] = []

    async def bring() -> None:
        for number in range(6):
            arrived.append(number)
            await window.put(number)
        window.close()

    bringing = asyncio.create_task(bring())
    for _ in range(20):
        await asyncio.sleep(0)
    assert (arrived, window.unwritten) == ([0, 1, 2], [0, 1, 2])
    disk.may.set()
    await asyncio.gather(bringing, writing)
    assert [number for batch in disk.batches for number in batch] == [0, 1, 2, 3, 4, 5]
    assert window.unwritten == []


async def test_what_could_not_be_written_is_still_known() -> None:
    async def refuse(batch: list[int]) -> None:
        raise RuntimeError("no")

    window = Window(refuse, 10)
    await window.put(1)
    with pytest.raises(RuntimeError):
        await window.run()
    assert window.unwritten == [1]
