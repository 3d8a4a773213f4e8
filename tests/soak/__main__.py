"""`python -m soak`: everything at once, for as long as you like."""

import argparse
import asyncio
import logging
import signal
import sys
from random import SystemRandom

from soak.soak import Soak, soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="what goes wrong and when; else a new one")
    parser.add_argument("--every", type=float, default=4.0, help="seconds between faults")
    given = parser.parse_args()
    logging.getLogger("muster.kafka").addHandler(logging.NullHandler())  # that brokers go is what is meant
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever is ended ends what they started
    seed = SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    done = asyncio.run(soak(Soak(seed, given.minutes * 60, every=given.every)))
    sys.stdout.write(f"{done.table}\n")
    for wrong in done.verdict.wrong:
        sys.stdout.write(f"WRONG: {wrong}\n")
    return 1 if done.verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
