"""Running a scenario under many seeds, and finding the one that fails again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from muster.sim.world import World

Scenario: TypeAlias = Callable[[World], list[str]]


@dataclass(frozen=True)
class Failure:
    """A seed under which something was wrong, and what led there."""

    seed: int
    wrong: list[str]
    trace: list[str]

    def __str__(self) -> str:
        tail = self.trace[-60:]
        lines = [
            f"seed {self.seed}:",
            *self.wrong,
            f"the last {len(tail)} of {len(self.trace)} events:",
            *tail,
        ]
        return "\n  ".join(lines)


def run_in(world: World, scenario: Scenario) -> Failure | None:
    """Run it once. What the run raises is found wrong too. None: all is well."""
    try:
        wrong = scenario(world)
    except Exception as error:  # the boundary of a run: whatever ended it belongs in its report
        wrong = [f"{type(error).__name__}: {error}"]
    return Failure(world.seed, wrong, world.trace()) if wrong else None


def first_failure(scenario: Scenario, seeds: Iterable[int]) -> Failure | None:
    """Run seeds until one fails, without a trace; that one is run again with it."""
    for seed in seeds:
        failure = run_in(World(seed, traced=False), scenario)
        if failure is not None:
            return run_in(World(seed), scenario) or _unrepeatable(failure)
    return None


def _unrepeatable(failure: Failure) -> Failure:
    """The simulation itself is wrong then, and must say so rather than nothing."""
    return Failure(failure.seed, [*failure.wrong, "run again, all was well: it does not repeat"], [])
