"""What goes wrong and when, all of it from a seed; and making it so."""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from random import Random

import httpx

from polling import until
from torture.instances import MusterProcess
from torture.own_postgres import FAST, IMMEDIATE, OwnPostgres


class Blow(StrEnum):
    KILL = "killed"
    FREEZE = "frozen beyond its lease"
    END = "asked to end"
    DATABASE_DOWN = "database stopped at once"
    DATABASE_RESTART = "database restarted"
    ROLL = "all restarted, one after the other"


@dataclass(frozen=True, slots=True)
class Strike:
    """`at` is in seconds, or for an outage or a roll the part that is done by then; it stays so for
    `seconds`."""

    at: float
    blow: Blow
    target: int
    seconds: float


def blows(seed: int, instances: int, lease: float) -> Iterator[Strike]:
    """One about every second, without end."""
    chance = Random(seed)
    kinds = [Blow.KILL, Blow.KILL, Blow.END] + ([Blow.FREEZE] if instances > 1 else [])
    frozen = lease + chance.uniform(0.5, 3.0)
    for second in count():
        at, target = second + chance.random(), chance.randrange(instances)
        yield Strike(at, chance.choice(kinds), target, frozen)


def outages(seed: int) -> list[Strike]:
    """The database is stopped twice, the hard way first: when a third is done, and when two thirds are."""
    chance = Random(seed)
    return [
        Strike(1 / 3, Blow.DATABASE_DOWN, 0, chance.uniform(0.5, 3.0)),
        Strike(2 / 3, Blow.DATABASE_RESTART, 0, chance.uniform(0.0, 1.0)),
    ]


def rolls(parts: Sequence[float]) -> list[Strike]:
    """All are restarted one after the other, as if a new version came, when these parts are done."""
    return [Strike(part, Blow.ROLL, 0, 0.0) for part in parts]


class Chaos:
    """Strikes as scheduled. An instance that is not up yet, or frozen, is spared; one that has ended is
    started again, whatever ended it, as a supervisor would."""

    def __init__(self, instances: Sequence[MusterProcess], postgres: OwnPostgres | None) -> None:
        self._instances, self._postgres = instances, postgres
        self._thaws: set[asyncio.Task[None]] = set()
        self.struck: Counter[str] = Counter()

    async def rage(
        self, strikes: Iterable[Strike], outages: Sequence[Strike], done: Callable[[], float]
    ) -> None:
        """Until all is done, of which `done` says the part that is; then nothing is frozen, and the database
        is there."""
        loop = asyncio.get_running_loop()
        began, ahead = loop.time(), list(outages)
        for strike in strikes:
            await asyncio.sleep(max(began + strike.at - loop.time(), 0.0))
            if done() >= 1 and not ahead:
                break
            if ahead and done() >= ahead[0].at:
                await self.strike(ahead.pop(0))
            await self.strike(strike)
        await self.thawed()

    async def thawed(self) -> None:
        """Once nothing is frozen any more."""
        await asyncio.gather(*self._thaws)

    async def supervise(self) -> None:
        """Until cancelled."""
        async with httpx.AsyncClient() as client, asyncio.TaskGroup() as keeping:
            for instance in self._instances:
                keeping.create_task(_keep_up(instance, client))

    async def strike(self, strike: Strike) -> None:
        if strike.blow is Blow.DATABASE_DOWN:
            return await self._stop_database(IMMEDIATE, strike)
        if strike.blow is Blow.DATABASE_RESTART:
            return await self._stop_database(FAST, strike)
        if strike.blow is Blow.ROLL:
            return await self._roll()
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

    async def _roll(self) -> None:
        """Whoever supervises starts each again; the next one's turn comes once it is ready."""
        self.struck[Blow.ROLL] += 1
        for instance in self._instances:
            await _restart(instance)

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


async def _restart(instance: MusterProcess) -> None:
    async def can_be_asked() -> bool:
        return instance.is_up and instance.is_ready and not instance.is_frozen

    async def is_back() -> bool:
        return instance.starts > before and instance.is_ready

    await until(can_be_asked)
    before = instance.starts
    instance.ask_to_end()
    await until(is_back)


async def _thaw(instance: MusterProcess, seconds: float) -> None:
    await asyncio.sleep(seconds)
    instance.thaw()
