"""`python -m muster.sim`: run every scenario under many seeds, or one seed with its whole trace."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from muster.sim.scenarios import blows, bus, commands, committer, engine, schedules, starts, waits
from muster.sim.seeds import Failure, Scenario, first_failure, run_in
from muster.sim.world import World

SCENARIOS: dict[str, Scenario] = {
    "committer": committer.simulate,
    "engine": engine.simulate,
    "blows": blows.simulate,
    "starts": starts.simulate,
    "schedules": schedules.simulate,
    "waits": waits.simulate,
    "bus": bus.simulate,
    "commands": commands.simulate,
}
DEFAULT_SEEDS = {
    "committer": 10_000,
    "engine": 20_000,
    "blows": 4,
    "starts": 5_000,
    "schedules": 5_000,
    "waits": 5_000,
    "bus": 3_000,
    "commands": 3_000,
}
# Those of which a seed is one run; the blows of one are hundreds, and are run where they are asked for.
ONE_RUN = SCENARIOS.keys() - {"blows"}
CHUNK = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """0: no seed failed. 1: one did, and is printed."""
    options = _parser().parse_args(arguments)
    names = [options.only] if options.only else list(SCENARIOS)
    if options.seed is not None:
        return max(_run_one(name, options.seed) for name in names if name in (options.only, *ONE_RUN))
    return max(_run_many(name, options.seeds or DEFAULT_SEEDS[name], options.jobs) for name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m muster.sim", description=__doc__)
    usual = ", ".join(f"{count} of the {name}" for name, count in DEFAULT_SEEDS.items())
    parser.add_argument("--seeds", type=int, metavar="N", help=f"run the seeds 0 to N-1 (usually {usual})")
    parser.add_argument("--seed", type=int, metavar="S", help="run only this one, and print its trace")
    parser.add_argument("--only", choices=SCENARIOS, help="this scenario instead of all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many to run side by side")
    return parser


def _run_one(name: str, seed: int) -> int:
    world = World(seed)
    failure = run_in(world, SCENARIOS[name])
    _say("\n".join(world.trace()))
    _say(f"{name}, seed {seed}: " + ("all is well" if failure is None else "; ".join(failure.wrong)))
    return int(failure is not None)


def _run_many(name: str, seeds: int, jobs: int) -> int:
    size = max(1, min(CHUNK, seeds // jobs))
    chunks = [range(start, min(start + size, seeds)) for start in range(0, seeds, size)]
    began = time.monotonic()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for failure in pool.map(partial(_run_chunk, name), chunks):
            if failure is not None:
                pool.shutdown(cancel_futures=True)
                again = f"python -m muster.sim --only {name} --seed {failure.seed}"
                _say(f"{name}: {failure}\nto see it again: {again}")
                return 1
    _say(f"{name}: {seeds} seeds, {seeds / (time.monotonic() - began):.0f} a second, all is well")
    return 0


def _run_chunk(name: str, seeds: range) -> Failure | None:
    return first_failure(SCENARIOS[name], seeds)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
