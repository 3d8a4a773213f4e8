"""`python -m torture`: the torture for as many executions as you like."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Coroutine
from random import SystemRandom

from torture.judge import Verdict
from torture.missing import Silence, miss_all
from torture.moving import Journey, move
from torture.torture import Plan, torture
from torture.waiting import Vigil, wait_for_all

OUTAGE_SECONDS = 30.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=None, help="at most; else until all are started")
    parser.add_argument("--executions", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None, help="what goes wrong and when; else a new one")
    parser.add_argument(
        "--sqlite", action="store_true", help="one process on SQLite, not three on PostgreSQL"
    )
    parser.add_argument(
        "--moving", action="store_true", help="executions that rest three times, on four instances"
    )
    parser.add_argument("--waiting", action="store_true", help="waits for events, four instances, Kafka")
    parser.add_argument("--missing", action="store_true", help="events that never come, four instances")
    parser.add_argument("--outage", action="store_true", help="--waiting while PostgreSQL is away for 30 s")
    parser.add_argument("--broker", action="store_true", help="--waiting while Kafka is killed and restarted")
    parser.add_argument("--no-redis", action="store_true", help="--moving without a Redis in trouble, too")
    parser.add_argument(
        "--busy", action="store_true", help="--moving where others work, too: lateness is told, not judged"
    )
    parser.add_argument(
        "--every", type=float, default=1.0, help="seconds between blows: --moving, --missing, --waiting"
    )
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever is ended ends what they started
    seed = SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    verdict = asyncio.run(_chosen(seed, given))
    for what, number in verdict.numbers.items():
        sys.stdout.write(f"{what:48} {number}\n")
    for wrong in verdict.wrong:
        sys.stdout.write(f"WRONG: {wrong}\n")
    return 1 if verdict.wrong else 0


def _chosen(seed: int, given: argparse.Namespace) -> Coroutine[None, None, Verdict]:
    if given.moving:
        is_alone = not given.busy
        has_redis = not given.no_redis
        return move(Journey(seed, given.executions, every=given.every, redis=has_redis, punctual=is_alone))
    if given.missing:
        return miss_all(Silence(seed, given.executions, every=given.every))
    if given.waiting:
        outage = OUTAGE_SECONDS if given.outage else 0.0
        vigil = Vigil(seed, given.executions, every=given.every, outage=outage, broker=given.broker)
        return wait_for_all(vigil)
    return torture(_plan(seed, given))


def _plan(seed: int, given: argparse.Namespace) -> Plan:
    seconds = None if given.minutes is None else given.minutes * 60
    return Plan(seed, given.executions, seconds, given.sqlite)


if __name__ == "__main__":
    sys.exit(main())
