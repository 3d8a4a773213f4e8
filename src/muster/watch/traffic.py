"""Traffic to try watching on: trades as other systems would tell of them, with their usual mishaps. Pure."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf

from muster.model.json import JsonObject

BOOKS, REGIONS = ("EQD", "FX", "RATES"), ("NY", "LN", "HK")
# Of a thousand trades, so many are never acknowledged, verified late, acknowledged first, told of twice.
LOST, LATE, EARLY, TWICE = 30, 40, 20, 20
DEADLINE = 10.0

DEMO_TRADES: JsonObject = {
    "name": "Demo trades",
    "key": "demo-trades",
    "createdBy": "demo",
    "graph": {
        "nodes": [
            {"key": "booked", "eventType": "DEMO_BOOKED", "start": True},
            {"key": "verified", "eventType": "DEMO_VERIFIED"},
            {"key": "acknowledged", "eventType": "DEMO_ACKNOWLEDGED"},
            {"key": "settled", "eventType": "DEMO_SETTLED", "terminal": True},
        ],
        "edges": [
            {"from": "booked", "to": "verified", "maxLatencySec": 10, "severity": "amber"},
            {"from": "verified", "to": "acknowledged", "maxLatencySec": 10, "severity": "red"},
            {"from": "acknowledged", "to": "settled", "maxLatencySec": 20, "severity": "amber"},
        ],
    },
    "groupDimensions": ["book", "region"],
}


@dataclass(frozen=True, slots=True, order=True)
class Timed:
    """An event and when it is told, in seconds from the beginning. `event` has no time yet."""

    at: float
    number: int
    event: JsonObject


def traffic(rate: float, seed: int, trades: float = inf) -> Iterator[Timed]:
    """Events in the order of their times: so many trades a second begin, `trades` in all."""
    chance, numbers, waiting = random.Random(seed), count(), list[Timed]()
    begins, made = 0.0, 0
    while waiting or made < trades:
        if made < trades and (not waiting or begins <= waiting[0].at):
            for at, event in _trade(chance, f"D{seed}-{made}"):
                heappush(waiting, Timed(begins + at, next(numbers), event))
            made += 1
            begins += chance.expovariate(rate)
        else:
            yield heappop(waiting)


def _trade(chance: random.Random, key: str) -> Iterator[tuple[float, JsonObject]]:
    group: JsonObject = {"book": chance.choice(BOOKS), "region": chance.choice(REGIONS)}
    mishap = chance.randrange(1000)
    is_lost, mishap = mishap < LOST, mishap - LOST
    is_late, mishap = 0 <= mishap < LATE, mishap - LATE
    is_early, mishap = 0 <= mishap < EARLY, mishap - EARLY
    is_told_twice = 0 <= mishap < TWICE
    verified = chance.uniform(0.5, 4.0) + (DEADLINE if is_late else 0.0)
    acknowledged = verified + chance.uniform(0.5, 4.0)
    if is_early:
        verified, acknowledged = acknowledged, verified
    times = {"BOOKED": 0.0, "VERIFIED": verified}
    if not is_lost:
        times |= {"ACKNOWLEDGED": acknowledged, "SETTLED": max(verified, acknowledged) + chance.uniform(1, 8)}
    for step, at in times.items():
        event: JsonObject = {
            "eventId": f"{key}-{step}",
            "sourceSystem": "demo",
            "eventType": f"DEMO_{step}",
            "correlationKey": key,
            "group": group,
            "payload": {"notional": chance.randrange(1, 100) * 10_000},
        }
        yield at, event
        if is_told_twice:
            yield at + 0.1, event
