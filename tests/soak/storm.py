"""Making it go wrong, and well again."""

import asyncio
import signal
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from own_redis import OwnRedis
from own_service import OwnService
from soak.faults import Fault, Trouble, troubles
from soak.lines import Line
from soak.volume import Volume
from torture.chaos import Blow, Chaos, Strike
from torture.own_postgres import FAST, IMMEDIATE, OwnPostgres

BLOWS = {Fault.KILL: Blow.KILL, Fault.FREEZE: Blow.FREEZE, Fault.END: Blow.END}


@dataclass
class Services:
    """`lines` are those of instances that are far away, by the fault that makes them slow."""

    postgres: OwnPostgres
    kafka: OwnService
    redis: OwnRedis
    volume: Volume | None
    lines: Mapping[Fault, Line]

    @property
    def possible(self) -> set[Fault]:
        return set(Fault) - (set() if self.volume else {Fault.DISK_FULL})


@dataclass
class Storm:
    """`given` is how often each fault was, and `lasted` for how many seconds in all, with the time that it
    takes to start anew. Faults of different parts overlap; those of one wait for each other."""

    services: Services
    chaos: Chaos
    given: Counter[Fault] = field(default_factory=Counter)
    lasted: Counter[Fault] = field(default_factory=Counter)
    _in_turn: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def rage(self, seed: int, instances: int, lease: float, every: float, seconds: float) -> None:
        """For so long; then everything is there, and as quick as it was."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.TaskGroup() as under_way:
            for trouble in troubles(seed, instances, lease, every, self.services.possible):
                if trouble.at > seconds:
                    break
                await asyncio.sleep(max(began + trouble.at - loop.time(), 0.0))
                under_way.create_task(self._give(trouble))
        await self.chaos.thawed()

    async def _give(self, trouble: Trouble) -> None:
        if trouble.fault in BLOWS:
            await self._strike(trouble)
            return
        async with self._in_turn[_part(trouble.fault)]:
            began = asyncio.get_running_loop().time()
            await self._break(trouble)
            self._note(trouble.fault, asyncio.get_running_loop().time() - began)

    def _note(self, fault: Fault, seconds: float, times: int = 1) -> None:
        self.given[fault] += times
        self.lasted[fault] += round(seconds * times)

    async def _strike(self, trouble: Trouble) -> None:
        blow = BLOWS[trouble.fault]
        before = self.chaos.struck[blow]
        await self.chaos.strike(Strike(trouble.at, blow, trouble.target, trouble.seconds))
        # An instance that is not up yet, or frozen, is spared.
        lasts = trouble.seconds if trouble.fault is Fault.FREEZE else 0.0
        self._note(trouble.fault, lasts, self.chaos.struck[blow] - before)

    async def _break(self, trouble: Trouble) -> None:
        services, seconds = self.services, trouble.seconds
        match trouble.fault:
            case Fault.DATABASE_DOWN:
                await _restart(services.postgres, IMMEDIATE, seconds)
            case Fault.DATABASE_RESTART:
                await _restart(services.postgres, FAST, seconds)
            case Fault.BROKER_KILLED:
                await _restart(services.kafka, signal.SIGKILL, seconds)
            case Fault.BROKER_RESTART:
                await _restart(services.kafka, signal.SIGTERM, seconds)
            case Fault.DISK_FULL:
                await _fill(services, seconds)
            case Fault.REDIS_FLUSH:
                await asyncio.to_thread(services.redis.flush)
            case Fault.REDIS_KILLED:
                await asyncio.to_thread(services.redis.kill)
                await asyncio.sleep(seconds)
                await asyncio.to_thread(services.redis.start)
            case _:
                await _disturb(services.lines[trouble.fault], trouble)


def _part(fault: Fault) -> str:
    """What it happens to: the lines apart from what they lead to."""
    line = "line" if "line" in fault.value else ""
    return line + next(name for name in ("PostgreSQL", "Kafka", "Redis") if name in fault.value)


async def _restart(service: OwnService, how: signal.Signals, seconds: float) -> None:
    await asyncio.to_thread(service.stop, how)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(service.start)


async def _fill(services: Services, seconds: float) -> None:
    assert services.volume is not None
    await asyncio.to_thread(services.volume.fill)
    try:
        await asyncio.sleep(seconds)
    finally:
        await asyncio.to_thread(services.volume.make_room)
    # Where there was no room for its log it has ended, and is started as a supervisor would.
    await asyncio.to_thread(services.postgres.recover)


async def _disturb(line: Line, trouble: Trouble) -> None:
    if trouble.fault is Fault.SILENT_DATABASE:
        line.be_silent()
    else:
        line.delay = trouble.delay
    try:
        await asyncio.sleep(trouble.seconds)
    finally:
        line.be_well()
