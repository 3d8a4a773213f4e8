"""Messages through a carrier with faults, and a toy protocol that survives them."""

import asyncio
from random import Random

import pytest

from muster.sim.network import Channel, Faults
from muster.sim.world import World


async def received(world: World, faults: Faults, count: int = 50) -> list[int]:
    channel: Channel[int] = Channel(world, "wire", faults)
    for number in range(count):
        channel.send(number)
    heard: list[int] = []

    async def listen() -> None:
        while True:
            heard.append(await channel.receive())

    listening = asyncio.create_task(listen())
    await asyncio.sleep(10)
    listening.cancel()
    return heard


def under(faults: Faults, seed: int = 1) -> list[int]:
    async def main(world: World) -> list[int]:
        return await received(world, faults)

    return World(seed).run(main)


def test_without_reordering_messages_arrive_in_order_however_late() -> None:
    assert under(Faults(slowest=2, reorder=False)) == list(range(50))


def test_with_delays_messages_overtake_each_other_and_none_is_lost() -> None:
    heard = under(Faults(slowest=2))
    assert heard != list(range(50))
    assert sorted(heard) == list(range(50))


def test_some_are_lost_and_some_come_twice() -> None:
    lost = under(Faults(drop=0.3))
    assert 20 < len(lost) < 50
    doubled = under(Faults(duplicate=0.3, slowest=1))
    assert set(doubled) == set(range(50))
    assert 55 < len(doubled) < 80


def test_a_seed_decides_what_becomes_of_each_message() -> None:
    faults = Faults(drop=0.2, duplicate=0.2, slowest=1)
    assert under(faults, 5) == under(faults, 5) != under(faults, 6)


def test_one_message_s_fate_does_not_shift_the_next_one_s() -> None:
    kind, cruel = Random(4), Random(4)
    Faults(slowest=1).delays(kind)
    Faults(drop=1).delays(cruel)
    assert Faults(slowest=1).delays(kind) == Faults(slowest=1).delays(cruel)


@pytest.mark.parametrize("seed", range(30))
def test_a_sender_that_repeats_until_it_is_answered_is_heard_once_across_crashes(seed: int) -> None:
    """The toy: requests with numbers, answers, a receiver that remembers outside the sender's life."""

    async def main(world: World) -> None:
        faults = Faults(drop=0.3, duplicate=0.3, slowest=0.5)
        there: Channel[int] = Channel(world, "there", faults)
        back: Channel[int] = Channel(world, "back", faults)
        heard: list[int] = []

        async def receiver() -> None:
            while True:
                number = await there.receive()
                if number not in heard:
                    heard.append(number)
                back.send(number)

        async def sender(first: int) -> None:
            for number in range(first, 5):
                while True:
                    there.send(number)
                    try:
                        async with asyncio.timeout(1):
                            while await back.receive() != number:
                                pass
                    except TimeoutError:
                        continue
                    break

        listening = world.outside(receiver(), "receiver")
        chance = world.chance("crashes")
        while True:
            process = world.process("sender")
            process.start(sender(max(heard, default=0)))
            world.loop.call_later(chance.random() * 20, process.crash)
            if not await process.ended():
                break
        listening.cancel()
        assert heard == [0, 1, 2, 3, 4]

    World(seed).run(main)
