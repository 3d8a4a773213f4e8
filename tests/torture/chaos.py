"""What goes wrong and when, all of it from a seed; and making it so."""

import asyncio
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

import httpx

from torture.instances import MusterProcess
from torture.own_postgres import FAST, IMMEDIATE, OwnPostgres


class Blow(StrEnum):
    KILL = "killed"
    FREEZE = "frozen beyond its lease"
    END = "asked to end"
    DATABASE_DOWN = "database stopped at once"
    DATABASE_RESTART = "database restarted"


@dataclass(frozen=True, slots=True)
class Strike:
    """`seconds`: how long it stays so."""

    at: float
    blow: Blow
    target: int
    seconds: float


def schedule(seed: int, seconds: float, instances: int, lease: float, database: bool) -> list[Strike]:
    """A blow about every second; the database is stopped twice, the hard way first."""
    chance = Random(seed)
    blows = (
        [Blow.KILL, Blow.KILL, Blow.FREEZE, Blow.END] if instances > 1 else [Blow.KILL, Blow.KILL, Blow.END]
    )
    found = [
        Strike(second + chance.random(), chance.choice(blows), chance.randrange(instances), 0.0)
        for second in range(int(seconds))
    ]
    frozen = lease + chance.uniform(0.5, 3.0)
    found = [Strike(one.at, one.blow, one.target, frozen) for one in found]
    if database:
        found.append(Strike(seconds / 3, Blow.DATABASE_DOWN, 0, chance.uniform(0.5, 3.0)))
        found.append(Strike(seconds * 2 / 3, Blow.DATABASE_RESTART, 0, chance.uniform(0.0, 1.0)))
    return sorted(found, key=lambda strike: strike.at)


class Chaos:
    """Strikes as scheduled. An instance that is not up yet, or frozen, is spared; one that has ended is
    started again, whatever ended it, as a supervisor would."""

    def __init__(self, instances: Sequence[MusterProcess], postgres: OwnPostgres | None) -> None:
        self._instances, self._postgres = instances, postgres
        self._thaws: set[asyncio.Task[None]] = set()
        self.struck: Counter[str] = Counter()

    async def rage(self, strikes: Sequence[Strike]) -> None:
        """All of it; then nothing is frozen, and the database is there."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for strike in strikes:
            await asyncio.sleep(max(began + strike.at - loop.time(), 0.0))
            await self._strike(strike)
        await asyncio.gather(*self._thaws)

    async def supervise(self) -> None:
        """Until cancelled."""
        async with httpx.AsyncClient() as client, asyncio.TaskGroup() as keeping:
            for instance in self._instances:
                keeping.create_task(_keep_up(instance, client))

    async def _strike(self, strike: Strike) -> None:
        if strike.blow is Blow.DATABASE_DOWN:
            return await self._stop_database(IMMEDIATE, strike)
        if strike.blow is Blow.DATABASE_RESTART:
            return await self._stop_database(FAST, strike)
        target = self._instances[strike.target]
        if not target.is_up or not target.is_ready or target.is_frozen:
            return None
        self.struck[strike.blow] += 1
        match strike.blow:
            case Blow.KILL:
                target.kill()
            case Blow.END:
                target.ask_to_end()
            case Blow.FREEZE:
                target.freeze()
                self._thaws.add(asyncio.create_task(_thaw(target, strike.seconds)))
        return None

    async def _stop_database(self, how: signal.Signals, strike: Strike) -> None:
        assert self._postgres is not None
        self.struck[strike.blow] += 1
        await asyncio.to_thread(self._postgres.stop, how)
        await asyncio.sleep(strike.seconds)
        await asyncio.to_thread(self._postgres.start)


async def _keep_up(instance: MusterProcess, client: httpx.AsyncClient) -> None:
    while True:
        if not instance.is_up:
            instance.start()
        if not instance.is_ready:
            await instance.look(client)
        await asyncio.sleep(0.1)


async def _thaw(instance: MusterProcess, seconds: float) -> None:
    await asyncio.sleep(seconds)
    instance.thaw()
