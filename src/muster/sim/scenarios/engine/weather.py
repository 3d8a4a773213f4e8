"""The faults: when instances crash and freeze, and what the database does to each of their transactions."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from random import Random

from muster.sim.database import Choose, Fault, by_chance
from muster.sim.network import Faults
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.world import Process, World

STORMY_SECONDS = 6.0
# Sometimes an instance is back at once, sometimes others have taken over long before.
RESTARTS_AFTER = [0.05, 0.5, 4.0]
# Instances go down twice a second, through nobody's fault: five times in a row is bad luck at times.
TAKEOVERS = 8
ODDS = {
    Fault.UNAVAILABLE: 0.03,
    Fault.COMMIT_LOST: 0.02,
    Fault.ANSWER_LOST: 0.02,
    Fault.FAILS_MIDWAY: 0.02,
    Fault.CRASH_BEFORE: 0.01,
    Fault.CRASH_AFTER: 0.01,
}
ROUGH = Faults(drop=0.05, duplicate=0.1, slowest=0.3)
GENTLE = Faults(slowest=0.05)
# An instance and the database lose each other about so often, for shorter than a lease and for longer.
PARTITION_EVERY = 4.0
# Crashes of a caller, by what it has done of a call.
CALL_ODDS = {"before the call": 0.02, "after the call": 0.02}


class Weather:
    """Stormy until the ledger says that it is calm."""

    def __init__(self, world: World, ledger: Ledger) -> None:
        self._world, self._ledger = world, ledger
        self._chance = world.chance("weather")
        self._by_odds = by_chance(world, "database", ODDS)
        self._partitions = world.chance("partitions")
        self._apart_until: dict[str, float] = {}

    @property
    def calm(self) -> bool:
        return self._ledger.calm

    def over_database(self) -> Choose:
        """What the database does to one life of an instance. Some lives end at one of their first commits:
        while they recover."""
        aimed = self._chance.choice([None, None, self._chance.randrange(12)])
        how = self._chance.choice([Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
        number = -1

        def choose() -> Fault:
            nonlocal number
            number += 1
            if self.calm:
                return Fault.NONE
            return how if number == aimed else self._by_odds()

        return choose

    def reaches_database(self, name: str) -> bool:
        """Whether an instance of this name can ask it anything."""
        return self._ledger.calm or self._apart_until.get(name, 0.0) <= self._world.loop.time()

    def part(self, name: str, seconds: float) -> None:
        """It cannot, for so long; all others can."""
        self._world.note("database", f"cannot be reached by {name} for {seconds} s")
        self._apart_until[name] = self._world.loop.time() + seconds

    async def part_some(self, names: Sequence[str]) -> None:
        """Now this one and now that one, until it is calm."""
        draw = self._partitions
        while not self.calm:
            self.part(draw.choice(names), draw.choice([0.3, 1.0, 3.0]))
            await asyncio.sleep(draw.random() * PARTITION_EVERY)

    def over_network(self) -> Faults:
        return GENTLE if self.calm else ROUGH

    def strikes(self, process: Process, when: str) -> bool:
        """Whether the caller dies at this moment of a call."""
        if self.calm or self._chance.random() >= CALL_ODDS[when]:
            return False
        self._world.note(process.name, f"dies {when}")
        process.crash()
        return True

    async def live_again_and_again(
        self, name: str, live: Callable[[], Coroutine[object, object, object]], chance: Random
    ) -> None:
        """The lives of one instance, each ended by a crash, and a pause after each."""
        while True:
            process = self._world.process(name)
            process.start(live())
            self._gather_over(process)
            await process.ended()
            await asyncio.sleep(chance.choice(RESTARTS_AFTER))

    def _gather_over(self, process: Process) -> None:
        """A crash, or a sleep that outlasts the lease, at any moment of an instance's life."""
        if self.calm:
            return
        at, long = self._chance.random() * STORMY_SECONDS, self._chance.choice([2.5, 5.0])
        match self._chance.choice(["nothing", "nothing", "crash", "freeze"]):
            case "crash":
                self._world.loop.call_later(at, self._unless_calm, process.crash)
            case "freeze":
                self._world.loop.call_later(at, self._unless_calm, partial(process.freeze, long))

    def _unless_calm(self, strike: Callable[[], None]) -> None:
        if not self.calm:
            strike()
