"""What goes wrong and when, all of it from a seed: each round has every kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from random import Random


class Fault(StrEnum):
    KILL = "instance killed (kill -9)"
    FREEZE = "instance frozen beyond its lease"
    END = "instance asked to end, started again"
    DATABASE_DOWN = "PostgreSQL stopped at once"
    DATABASE_RESTART = "PostgreSQL restarted"
    DISK_FULL = "PostgreSQL's volume full"
    BROKER_KILLED = "Kafka killed (kill -9)"
    BROKER_RESTART = "Kafka restarted"
    REDIS_FLUSH = "Redis emptied"
    REDIS_KILLED = "Redis killed (kill -9)"
    SLOW_DATABASE = "slow line to PostgreSQL"
    SLOW_BROKER = "slow line to Kafka"
    SLOW_REDIS = "slow line to Redis"
    SILENT_DATABASE = "silent line to PostgreSQL"


# How often each comes in a round.
ROUND = {
    **dict.fromkeys(Fault, 1),
    Fault.KILL: 5,
    Fault.FREEZE: 4,
    Fault.END: 4,
    Fault.REDIS_FLUSH: 2,
}
SECONDS = {
    Fault.DATABASE_DOWN: (0.5, 3.0),
    Fault.DATABASE_RESTART: (0.0, 1.0),
    Fault.DISK_FULL: (3.0, 6.0),
    Fault.BROKER_KILLED: (0.5, 3.0),
    Fault.BROKER_RESTART: (0.0, 1.0),
    Fault.REDIS_KILLED: (0.1, 3.0),
    Fault.SLOW_DATABASE: (5.0, 10.0),
    Fault.SLOW_BROKER: (5.0, 10.0),
    Fault.SLOW_REDIS: (5.0, 10.0),
}
BEYOND_LEASE = (0.5, 4.0)
DELAYS = (0.02, 0.2)


@dataclass(frozen=True, slots=True)
class Trouble:
    """`at` so many seconds from the start, and for `seconds`; `delay` is that of a slow line."""

    at: float
    fault: Fault
    target: int
    seconds: float
    delay: float


def troubles(
    seed: int, instances: int, lease: float, every: float, possible: set[Fault]
) -> Iterator[Trouble]:
    """One about every so many seconds, without end. The first instance is never ended, so that one grows old:
    it is frozen and slowed like the others."""
    chance = Random(f"{seed}/faults")
    bag: list[Fault] = []
    for number in count():
        if not bag:
            bag = [fault for fault, times in ROUND.items() if fault in possible for _ in range(times)]
            chance.shuffle(bag)
        fault = bag.pop()
        shortest, longest = SECONDS.get(fault, (lease + BEYOND_LEASE[0], lease + BEYOND_LEASE[1]))
        first = 1 if fault in (Fault.KILL, Fault.END) else 0
        yield Trouble(
            (number + chance.random()) * every,
            fault,
            chance.randrange(first, instances),
            chance.uniform(shortest, longest),
            chance.uniform(*DELAYS),
        )
