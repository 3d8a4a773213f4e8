"""Messages that come late, twice, in another order or never: for a bus, a cache or a wire."""

import asyncio
from collections import deque
from contextvars import Context
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from muster.sim.world import World

Message = TypeVar("Message")


@dataclass(frozen=True)
class Faults:
    """How a carrier treats messages: chances of loss and doubling, the slowest delivery in seconds, and
    whether a later message may overtake."""

    drop: float = 0.0
    duplicate: float = 0.0
    slowest: float = 0.0
    reorder: bool = True

    def delays(self, chance: Random) -> list[float]:
        """How long each copy of one message travels. Empty: it is lost."""
        # Always the same number of draws, so that one message's fate does not shift the next one's.
        lost, doubled, first, second = (chance.random() for _ in range(4))
        if lost < self.drop:
            return []
        return [first * self.slowest, second * self.slowest][: 2 if doubled < self.duplicate else 1]


class Channel(Generic[Message]):
    """Carries messages from many senders to whoever receives, each to one receiver.

    It belongs to no process: what was sent still arrives when its sender has crashed. What a receiver took
    is gone, even if it crashes then; a carrier that redelivers is built on top. Its `faults` may change.
    """

    def __init__(self, world: World, name: str, faults: Faults) -> None:
        self._world, self._name, self.faults = world, name, faults
        self._chance = world.chance(f"channel/{name}")
        self._underway: deque[Message] = deque()
        self._arrived: deque[Message] = deque()
        self._arrival = asyncio.Event()

    def send(self, message: Message) -> None:
        delays = self.faults.delays(self._chance)
        self._world.note(self._name, f"carries {len(delays)} of {message!r}")
        for delay in delays:
            self._underway.append(message)
            # An empty context: the delivery must outlive the process that sent.
            self._world.loop.call_later(delay, self._arrive, message, context=Context())

    def _arrive(self, message: Message) -> None:
        if self.faults.reorder:
            self._arrived.append(message)
        else:  # something arrives now: what was sent first of all that is still underway
            self._arrived.append(self._underway.popleft())
        self._arrival.set()

    async def receive(self) -> Message:
        """The next message to arrive."""
        while not self._arrived:
            self._arrival.clear()
            await self._arrival.wait()
        return self._arrived.popleft()
