"""Those who ask at the same time share a look, and nobody gets what was read before they asked."""

import asyncio

import pytest

from muster.kit.shared import Shared


class Shelf:
    """Something that changes, and that takes until `let_go` to be read."""

    def __init__(self) -> None:
        self.value, self.looks, self.gate = 0, 0, asyncio.Event()

    async def read(self, key: str) -> int:
        self.looks += 1
        seen = self.value
        await self.gate.wait()
        if key == "broken":
            raise LookupError(key)
        return seen


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_those_who_ask_together_share_one_look() -> None:
    shelf = Shelf()
    shared = Shared(shelf.read)
    asked = [asyncio.create_task(shared.get("a")) for _ in range(10)]
    shelf.gate.set()
    assert await asyncio.gather(*asked) == [0] * 10
    assert shelf.looks == 1


async def test_who_asks_while_a_look_is_under_way_gets_a_later_one() -> None:
    shelf = Shelf()
    shared = Shared(shelf.read)
    early = asyncio.create_task(shared.get("a"))
    await turns()
    shelf.value = 1
    late = [asyncio.create_task(shared.get("a")) for _ in range(3)]
    await turns()
    assert shelf.looks == 1
    shelf.gate.set()
    assert await early == 0
    assert await asyncio.gather(*late) == [1, 1, 1]
    assert shelf.looks == 2


async def test_an_error_reaches_all_who_share_it_and_the_next_look_is_a_new_one() -> None:
    shelf = Shelf()
    shelf.gate.set()
    shared = Shared(shelf.read)
    for round_ in (1, 2):
        asked = [asyncio.create_task(shared.get("broken")) for _ in range(2)]
        assert [type(error) for error in await asyncio.gather(*asked, return_exceptions=True)] == [
            LookupError,
            LookupError,
        ]
        assert shelf.looks == round_


async def test_whoever_stops_waiting_does_not_stop_the_others() -> None:
    shelf = Shelf()
    shared = Shared(shelf.read)
    impatient, patient = (asyncio.create_task(shared.get("a")) for _ in range(2))
    await turns()
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    shelf.gate.set()
    assert await patient == 0
