"""The world that effects reach: it honours keys, and keeps what it was told.

A call is a message over a network that loses, doubles, reorders and delays, and so is its answer. The caller
may die before it calls, and after it called and before it has the answer.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.sim.network import Channel
from muster.sim.scenarios.engine.invariants import happens_again, place_of, repeated_unasked
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.weather import Weather
from muster.sim.scenarios.engine.workflows import routed
from muster.sim.world import World, current_process

PATIENCE_SECONDS = 4.0
WORK_SECONDS = [0.0, 0.05, 0.5, 3.0]


@dataclass(frozen=True)
class Request:
    """`place` says which effect it is, whatever its `key` may be; `number` tells calls apart."""

    number: int
    key: str
    place: str
    refuse: bool
    once: bool = False


class Sink:
    """`done` counts how often each effect was done for a key that was new; `asked` are calls of nodes that
    must not be repeated unasked."""

    def __init__(self, world: World, ledger: Ledger, weather: Weather) -> None:
        self._world, self._ledger, self._weather = world, ledger, weather
        self._chance = world.chance("sink")
        self._requests: Channel[Request] = Channel(world, "sink", weather.over_network())
        self._waiting: dict[int, asyncio.Future[Done | Failure]] = {}
        self._keys: set[str] = set()
        self.asked: set[str] = set()
        self.done: Counter[str] = Counter()

    async def tell(self, params: JsonObject, call: Call) -> Done | Failure:
        """The handler of `TELL` nodes. It runs in the caller's process."""
        undoes = params.get("undo") is True
        place = place_of(call.execution_id, call.node_id, call.visit, "undo" if undoes else call.item_key)
        self._ledger.blame(happens_again(self._ledger.seen, place))
        once = params.get("once") is True and not undoes
        if once:
            self._ledger.blame(repeated_unasked(self._ledger.seen, place, self.asked))
            self.asked.add(place)
        process = current_process()
        assert process is not None, "effects are an instance's"
        number = len(self._waiting)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        if self._weather.strikes(process, "before the call"):
            await asyncio.get_running_loop().create_future()  # for ever: it is dead
        self._requests.faults = self._weather.over_network()
        self._requests.send(Request(number, call.key, place, params.get("refuse") is True, once))
        self._weather.strikes(process, "after the call")
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                outcome = await answer
        except TimeoutError:
            return Failure("NoAnswer", "the answer never came", retryable=True, unsure=True)
        return Done(outcome.output, routed(call)) if isinstance(outcome, Done) else outcome

    async def serve(self) -> None:
        """The far side."""
        while True:
            request = await self._requests.receive()
            outcome = self._outcome(request)
            work = self._chance.choice(WORK_SECONDS)
            for delay in self._weather.over_network().delays(self._chance):
                self._world.loop.call_later(work + delay, self._answer, request.number, outcome)

    def _outcome(self, request: Request) -> Done | Failure:
        if request.refuse:
            return Failure("Refused", "no")
        if not request.once and not self._weather.calm and self._chance.random() < 0.1:
            return Failure("Busy", "later", retryable=True)
        if request.key not in self._keys:
            self._keys.add(request.key)
            self.done[request.place] += 1
        return Done({"told": request.place})

    def _answer(self, number: int, outcome: Done | Failure) -> None:
        if not self._waiting[number].done():
            self._waiting[number].set_result(outcome)
